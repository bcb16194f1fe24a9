import { tap } from '../lib/tap.ts'
import type { ArchiveItem } from './archive-item.ts'
import type { LineContent } from './lines.ts'
import { type ReadArchiveOptions, readArchive } from './read-archive.ts'
import type { CreateEncoders } from './row-encoder.ts'
import { isFirstPart } from './table-parts.ts'

export interface TableSummary {
  readonly name: string
  rows: number
}

export interface StageSummary {
  readonly slug: string
  /** Those that it needs, in the order in which they can be made. */
  readonly extensions: { readonly name: string; readonly version: string }[]
  /** In the order in which their rows come. */
  readonly tables: TableSummary[]
  rows: number
  /** Whether `notExported` is empty; null where that is not known, since an earlier version wrote the archive. */
  readonly complete: boolean | null
  readonly notExported: LineContent<'stage'>['notExported']
}

export interface ProjectSummary extends LineContent<'project'> {
  roles: number
  events: number
  readonly stages: StageSummary[]
}

/** What is in an archive, as counted, not as stated. */
export interface ArchiveSummary extends LineContent<'archive'> {
  readonly projects: readonly ProjectSummary[]
  readonly rows: number
  readonly lines: number
  /** The size of what was read, compressed or not as it was. */
  readonly bytes: number
}

/**
 * Reads an archive through, as `readArchive` does, and reports what is in it.
 *
 * @throws {AppError} ARCHIVE_INVALID at the first fault, with its line.
 */
export async function verifyArchive(
  bytes: AsyncIterable<Buffer>,
  createEncoders: CreateEncoders,
  options: ReadArchiveOptions = {},
): Promise<ArchiveSummary> {
  let readBytes = 0
  const counted = tap(bytes, ({ length }) => {
    readBytes += length
  })

  const projects: ProjectSummary[] = []
  let header: LineContent<'archive'> | undefined
  let lines = 0
  for await (const item of readArchive(counted, createEncoders, options)) {
    if (item.kind === 'archive') header = item.content
    if (item.kind === 'end') lines = item.line
    count(item, projects)
  }
  if (!header) throw new Error('an archive was read that has no "archive" line')
  const stages = projects.flatMap((project) => project.stages)
  return { ...header, projects, rows: stages.reduce((sum, { rows }) => sum + rows, 0), lines, bytes: readBytes }
}

function count(item: ArchiveItem, projects: ProjectSummary[]): void {
  if (item.kind === 'project') projects.push({ ...item.content, roles: 0, events: 0, stages: [] })
  const project = projects.at(-1)
  if (!project) return
  if (item.kind === 'role') project.roles += 1
  if (item.kind === 'event') project.events += 1
  if (item.kind === 'stage') {
    const { slug, complete = null, notExported } = item.content
    project.stages.push({ slug, extensions: [], tables: [], rows: 0, complete, notExported })
  }
  const stage = project.stages.at(-1)
  if (item.kind === 'extension') stage?.extensions.push({ name: item.content.name, version: item.content.version })
  if (item.kind === 'rows' && isFirstPart(item.content)) stage?.tables.push({ name: item.content.table, rows: 0 })
  const table = stage?.tables.at(-1)
  if (item.kind !== 'row' || !stage || !table) return
  table.rows += item.count
  stage.rows += item.count
}
