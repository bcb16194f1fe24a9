import { readArchive } from '../../archive/read-archive.ts'
import type { NotExported } from '../../contract/job.ts'
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
  readonly notExported: readonly NotExported[]
}

/**
 * Reads an archive of one project through to its end, and checks it meanwhile.
 *
 * @param progress is kept up to date with the table and the number of rows.
 * @throws {AppError} ARCHIVE_INVALID at the first fault, also where the `end` line is missing.
 */
export async function readThrough(bytes: AsyncIterable<Buffer>, progress: TransferProgress): Promise<ArchiveSummary> {
  const stages: string[] = []
  const notExported: NotExported[] = []
  let tables = 0
  let system: ArchiveSummary['system']
  for await (const item of readArchive(bytes, copyText, GENEROUS_LIMITS)) {
    if (item.kind === 'row') progress.rows += item.count
    if (item.kind === 'rows') progress.table = item.content.table
    if (item.kind === 'rowsEnd') tables += 1
    if (item.kind === 'systemEnd') system = { roles: item.content.roles, events: item.content.events }
    if (item.kind === 'stage') {
      const { slug, notExported: left } = item.content
      stages.push(slug)
      notExported.push(...left.map((thing) => ({ stage: slug, ...thing })))
    }
  }
  return { stages, tables, rows: progress.rows, system, notExported }
}
