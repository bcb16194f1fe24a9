import { tap } from '../../lib/tap.ts'
import type { ArchiveCopy, ArchiveTable, PartEnd } from './archive-lists.ts'
import { copyRows } from './copy-rows.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import type { LoadingSession } from './loading-session.ts'
import type { SavedTable } from './resume/saved-load.ts'

interface Copying {
  readonly session: LoadingSession
  readonly follower: ArchiveFollower
  readonly table: ArchiveTable
}

interface CopyOptions {
  /** Called with about how many rows of the table PostgreSQL has taken. */
  readonly report: (rows: number) => void
  /** Whether to stop where a part ends. */
  readonly mayStop: () => boolean
  /** Called where that was done, to go on then. */
  readonly onStop: (position: SavedTable) => Promise<void>
}

/** @param from how much of the table is there. @returns how many rows PostgreSQL took, with those. */
export async function copyTable(
  { session, follower, table }: Copying,
  from: SavedTable | undefined,
  { report, mayStop, onStop }: CopyOptions,
): Promise<number> {
  let taken = from?.rows ?? 0
  let isNew = from === undefined
  let index = -1
  for await (const copy of follower.copiesOf(table)) {
    index += 1
    if (from && index < from.copy) continue
    let at = from && index === from.copy ? await findEnd(follower, table, copy, from) : undefined
    do {
      const run = follower.runOf(table, copy, { from: at, mayEnd: mayStop })
      const skipped = at?.rows ?? 0
      let bytes = at?.bytes ?? 0
      const first = taken - skipped
      // By their share of all bytes: which bytes are a row, only PostgreSQL looks at now.
      const sent = tap(run.bytes, (chunk) => {
        report(first + Math.floor((copy.rows * bytes) / (copy.range.end - copy.range.start)))
        bytes += chunk.length
      })
      taken += await copyRows(session.client, table, { copy, skipped, isNew }, sent)
      report(taken)
      at = run.end
      if (at) {
        await onStop({ name: table.name, rows: taken, parts: at.parts, isWhole: false, copy: index, end: at })
        isNew = false
      }
    } while (at)
  }
  return taken
}

async function findEnd(
  follower: ArchiveFollower,
  table: ArchiveTable,
  copy: ArchiveCopy,
  { end }: SavedTable,
): Promise<PartEnd | undefined> {
  const found = end ? await follower.partEndAt(table, copy, end.bytes) : undefined
  if (found?.rows === end?.rows && found?.crc32 === end?.crc32 && found?.parts === end?.parts) return found
  throw anotherArchive()
}

/** What an earlier attempt has loaded is of the same archive, by its digest: whatever else there is is a fault of ours. */
export const anotherArchive = (): Error => new Error('what was loaded before is not what the archive has')
