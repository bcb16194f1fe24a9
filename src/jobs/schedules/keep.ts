import type { Keep } from '../../contract/schedule.ts'
import { CORRECTION_MS } from './bring-forward.ts'

export interface KeptArchive {
  readonly id: string
  readonly finishedAt: Date
  /** Null where nobody tried to restore it. */
  readonly provenAt: Date | null
  /** Whether its bytes are not those that were written. */
  readonly isDamaged: boolean
}

const DAY_MS = 24 * 60 * 60_000

/**
 * The archives of a schedule that need not be kept any more.
 *
 * Where some are proven, `last` counts only those, and goes back as far as it has to: what is newer than the last one
 * that counts stays too. Neither the newest archive nor the newest that is proven is ever among the answer. Damaged ones
 * do not count; they go once they are older than all that stay. Nor do those that are much later than now, from while the
 * clock was ahead: they stay until their time has come.
 *
 * @param archives all that there are, of runs that succeeded, in any order.
 */
export function selectSuperfluous<T extends KeptArchive>(archives: readonly T[], keep: Keep, now: Date): readonly T[] {
  if (keep.last === undefined && keep.days === undefined) return []
  const made = archives.filter(({ finishedAt }) => finishedAt.getTime() <= now.getTime() + CORRECTION_MS)
  const intact = made.filter(({ isDamaged }) => !isDamaged)
  const newestFirst = intact.toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime())
  const proven = newestFirst.filter(({ provenAt }) => provenAt !== null)
  const untouchable = new Set([newestFirst[0], proven[0]])
  const counted = proven.length > 0 ? proven : newestFirst
  const keptSince = Math.min(sinceLast(counted, keep.last), sinceDays(keep.days, now))
  const superfluous = newestFirst.filter(
    (archive) => archive.finishedAt.getTime() < keptSince && !untouchable.has(archive),
  )
  const oldestKept = newestFirst.findLast((archive) => !superfluous.includes(archive))
  const damaged = made.filter(
    (archive) => archive.isDamaged && oldestKept && archive.finishedAt < oldestKept.finishedAt,
  )
  return [...superfluous, ...damaged]
}

/** Since when archives stay, so that as many stay as are wanted; for ever where there are fewer. */
const sinceLast = (counted: readonly KeptArchive[], last: number | undefined): number =>
  last === undefined ? Number.POSITIVE_INFINITY : (counted[last - 1]?.finishedAt.getTime() ?? Number.NEGATIVE_INFINITY)

const sinceDays = (days: number | undefined, now: Date): number =>
  days === undefined ? Number.POSITIVE_INFINITY : now.getTime() - days * DAY_MS
