import { assertRowsThere, type RowsPolicy } from '../../archive/assert-rows.ts'
import { readArchive } from '../../archive/read-archive.ts'
import { isLastPart } from '../../archive/table-parts.ts'
import { allComplete } from '../../contract/completeness.ts'
import type { NotExported } from '../../contract/not-exported.ts'
import { copyText } from '../../copy/copy-encoders.ts'
import { GENEROUS_LIMITS } from '../archive-limits.ts'
import type { TransferProgress } from '../terminal/progress.ts'

export interface ArchiveSummary {
  /** Slugs, in the archive's order. */
  readonly stages: readonly string[]
  readonly tables: number
  readonly rows: number
  /** Lines of the system section; undefined where there is none. */
  readonly system: { readonly roles: number; readonly events: number } | undefined
  /** Whether `notExported` is empty; null where that is not known, since a server of an earlier version made it. */
  readonly complete: boolean | null
  readonly notExported: readonly NotExported[]
}

/**
 * Reads an archive of one project through to its end, and checks it meanwhile.
 *
 * @param progress is kept up to date with the table and the number of rows.
 * @throws {AppError} ARCHIVE_INVALID at the first fault, also where the `end` line is missing; INCOMPLETE where rows are
 *   missing, and that is not allowed: a server of an earlier version does not refuse it.
 */
export async function readThrough(
  bytes: AsyncIterable<Buffer>,
  progress: TransferProgress,
  policy: RowsPolicy,
): Promise<ArchiveSummary> {
  const stages: string[] = []
  const notExported: NotExported[] = []
  const complete: (boolean | undefined)[] = []
  let tables = 0
  let system: ArchiveSummary['system']
  for await (const item of readArchive(bytes, copyText, GENEROUS_LIMITS)) {
    if (item.kind === 'row') progress.rows += item.count
    if (item.kind === 'rows') progress.table = item.content.table
    if (item.kind === 'rowsEnd' && isLastPart(item.content)) tables += 1
    if (item.kind === 'systemEnd') system = { roles: item.content.roles, events: item.content.events }
    if (item.kind === 'stage') {
      const { slug, notExported: left } = item.content
      stages.push(slug)
      complete.push(item.content.complete)
      notExported.push(...left.map((thing) => ({ stage: slug, ...thing })))
      assertRowsThere(notExported, policy)
    }
  }
  return { stages, tables, rows: progress.rows, system, complete: allComplete(complete), notExported }
}
