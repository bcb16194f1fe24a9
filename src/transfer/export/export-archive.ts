import type { ArchiveWriter } from '../../archive/archive-writer.ts'
import { ARCHIVE_VERSION } from '../../archive/lines.ts'
import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { attachedEventPages } from '../../events/attached/attached-event-pages.ts'
import { eventPages } from '../../events/event-pages.ts'
import { listRoles } from '../../projects/roles.ts'
import { searchStage } from '../../projects/stage-path.ts'
import { nameOf, toGrantsLine } from '../structure/grants/grants.ts'
import type { DeclaredProject, DeclaredStage, DeclaredTable } from './declare-tables.ts'
import { assertReadable, type LineLimits } from './line-limits.ts'
import { createReadableWriter } from './readable-writer.ts'
import type { SourceSnapshot } from './snapshot.ts'
import { tablePages } from './table-pages.ts'

export interface ArchiveSource {
  readonly projects: readonly DeclaredProject[]
  /** Reads what Wharf has of them, beside their rows; undefined where it has nothing. */
  readonly records: ((slug: string) => ProjectRecords) | undefined
}

/** Where Wharf's records of a project are. */
export interface ProjectRecords {
  /** Reads control and system tables, in the snapshot. */
  readonly tx: Transaction
  readonly projectId: string
}

/** Called for each page of a table's rows, with the slug of the stage and the table's name. */
export type RowsObserver = (page: { readonly stage: string; readonly table: string; readonly rows: number }) => void

interface ExportArchiveOptions {
  readonly generator: string
  readonly createdAt: Date
  readonly limits: LineLimits
  readonly onRows?: RowsObserver | undefined
}

interface Writing {
  readonly writer: ArchiveWriter
  readonly limits: LineLimits
  readonly onRows: RowsObserver | undefined
}

/**
 * The archive, plain, in pieces of any size. Reading is what moves the export on: nothing is read from the database
 * ahead of the consumer, but for the one page that is fetched while another is used.
 *
 * @param generator name and version of what writes the archive.
 * @param createdAt the first line's date; nothing else in the archive depends on when it is made.
 * @param limits of this server's imports. @throws {AppError} CONFLICT where a line is longer, or lines are more, than is read: it
 *   could not be restored.
 */
export async function* exportArchive(
  { projects, records }: ArchiveSource,
  { generator, createdAt, limits, onRows }: ExportArchiveOptions,
): AsyncGenerator<Buffer> {
  const writer = createReadableWriter()
  const moments = projects.map(({ source: { takenAt } }) => takenAt.getTime())
  const isOneMoment = moments.every((moment) => moment === moments[0])
  yield writer.open('archive', {
    version: ARCHIVE_VERSION,
    createdAt: createdAt.toISOString(),
    snapshotAt: new Date(Math.min(...moments)).toISOString(),
    generator,
  })
  for (const project of projects) {
    yield* projectLines({ writer, limits, onRows }, project, { records, isOneMoment })
  }
  yield writer.close('end')
}

async function* projectLines(
  writing: Writing,
  { selection, source, stages }: DeclaredProject,
  { records, isOneMoment }: Pick<ArchiveSource, 'records'> & { readonly isOneMoment: boolean },
): AsyncGenerator<Buffer> {
  const { writer } = writing
  const { slug, system, targetSlug } = selection
  yield writer.open('project', {
    slug,
    ...(targetSlug !== undefined && { targetSlug }),
    system,
    ...(!isOneMoment && { snapshotAt: source.takenAt.toISOString() }),
  })
  if (system) {
    if (!records) throw new Error(`Wharf has no records of "${slug}"`)
    yield* systemLines(writing, records(slug), { source, stages })
  }
  for (const stage of stages) yield* stageLines(writing, source, stage)
  yield writer.close('projectEnd')
}

async function* systemLines(
  { writer, limits }: Writing,
  { tx, projectId }: ProjectRecords,
  { source, stages }: Pick<DeclaredProject, 'source' | 'stages'>,
): AsyncGenerator<Buffer> {
  yield writer.open('system', {})
  for (const role of await listRoles(tx, projectId)) yield writer.open('role', role)
  for (const { stage } of stages) {
    const logs = [eventPages(tx, stage), ...(stage.loggedSince ? [attachedEventPages(source.tx, stage)] : [])]
    for (const log of logs) {
      for await (const { events, lines } of log) {
        yield assertReadable(writer.eventPage(events, lines), 'event', 'an event of the log', limits)
      }
    }
  }
  yield writer.close('systemEnd')
}

async function* stageLines(
  writing: Writing,
  { tx, extensionSchemas }: SourceSnapshot,
  { stage, structure, grants, tables }: DeclaredStage,
): AsyncGenerator<Buffer> {
  const { writer, limits } = writing
  // Names of the stage's own (in regclass values, say) are printed without a schema only where it is searched.
  await tx.$executeRawUnsafe(searchStage(stage.schemaName, extensionSchemas))
  const { notExported, comment } = structure
  const complete = notExported.length === 0
  yield writer.open('stage', {
    ...{ slug: stage.slug, notExported, complete },
    ...(grants && { grants: true }),
    ...(comment !== undefined && { comment }),
  })
  for (const { line } of structure.extensions) yield writer.open('extension', line)
  for (const sequence of structure.sequences) yield writer.open('sequence', sequence)
  for (const { line } of structure.inOrder) {
    const { kind, content } = line
    yield assertReadable(writer.open(kind, content), 'structure', `${kind} "${content.name}"`, limits)
  }
  for (const object of grants ?? []) {
    yield assertReadable(
      writer.open('grants', toGrantsLine(object)),
      'structure',
      `the rights on ${nameOf(object)}`,
      limits,
    )
  }
  for (const table of tables) yield* tableRows(writing, tx, stage.slug, table)
  yield writer.close('stageEnd')
}

async function* tableRows(
  { writer, limits, onRows }: Writing,
  tx: Transaction,
  stage: string,
  { line, columns, cursor }: DeclaredTable,
): AsyncGenerator<Buffer> {
  const open = (part: number): Buffer =>
    writer.open('rows', { table: line.name, columns: columns.map(({ name }) => name), part })
  let part = 1
  /** The blocks that the part is of: blocks without rows have no part. */
  let blocks: number | undefined
  yield open(part)
  for await (const { part: among, rows, lines } of tablePages(tx, cursor)) {
    if (blocks !== undefined && blocks !== among) {
      yield writer.close('rowsEnd', { last: false })
      part += 1
      yield open(part)
    }
    blocks = among
    yield assertReadable(writer.rowPage(rows, lines), 'row', `a row of table "${line.name}"`, limits)
    onRows?.({ stage, table: line.name, rows })
  }
  // Open cursors keep their tables' pages pinned and, on a long export, memory in the server.
  await tx.$executeRawUnsafe(`CLOSE ${quoteIdentifier(cursor.name)}`)
  yield writer.close('rowsEnd')
}
