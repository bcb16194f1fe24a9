import type { NightOutcome } from '../../contract/overview.ts'
import type { RunStatus } from '../../contract/schedule.ts'
import { toWallTime } from '../../lib/zoned-time.ts'

/** A run as a night shows it. */
export interface NightRun {
  readonly dueAt: Date
  readonly status: RunStatus
  readonly isProven: boolean
  /** Null where its job is gone, or the caller may not know of it. */
  readonly jobId: string | null
  readonly hasArchive: boolean
}

/** What one night left of a project: the best run of it. */
export interface Night {
  /** `2026-11-25` */
  readonly date: string
  readonly outcome: NightOutcome
  readonly run: NightRun | undefined
}

export const NIGHTS = 30

const DAY_MS = 24 * 60 * 60_000

/** The best first: a night with an archive is a good one, whatever else was tried. */
const BEST_FIRST = ['proven', 'made', 'running', 'failed', 'cancelled', 'skipped'] as const

type RunOutcome = (typeof BEST_FIRST)[number]

/** @returns undefined for what left nothing to tell. */
function outcomeOf({ status, isProven }: NightRun): RunOutcome | undefined {
  if (isProven) return 'proven'
  if (status === 'removed') return undefined
  if (status === 'succeeded') return 'made'
  return status === 'queued' ? 'running' : status
}

const rankOf = (run: NightRun): number => {
  const outcome = outcomeOf(run)
  return outcome === undefined ? BEST_FIRST.length : BEST_FIRST.indexOf(outcome)
}

/** The date that the clocks of a time zone show, `2026-11-25`. */
const dateIn = (time: Date, timezone: string): string => new Date(toWallTime(time, timezone)).toISOString().slice(0, 10)

/**
 * The last nights, the oldest first, each with the best of its runs; of equal ones, with the later.
 *
 * @param runs with the time zone of the schedule that each is of.
 * @param timezone whose today is the last of them.
 */
export function toNights(
  runs: readonly { readonly run: NightRun; readonly timezone: string }[],
  { now, timezone }: { readonly now: Date; readonly timezone: string },
): readonly Night[] {
  const best = new Map<string, NightRun>()
  for (const { run, timezone: own } of runs) {
    const date = dateIn(run.dueAt, own)
    const other = best.get(date)
    const isBetter = !other || rankOf(run) < rankOf(other) || (rankOf(run) === rankOf(other) && run.dueAt > other.dueAt)
    if (isBetter) best.set(date, run)
  }
  const today = Date.parse(dateIn(now, timezone))
  return Array.from({ length: NIGHTS }, (_, index) => {
    const date = new Date(today - (NIGHTS - 1 - index) * DAY_MS).toISOString().slice(0, 10)
    const run = best.get(date)
    const outcome = run && outcomeOf(run)
    return outcome ? { date, outcome, run } : { date, outcome: 'none', run: undefined }
  })
}
