import { type ArchiveWriter, createArchiveWriter } from '../../archive/archive-writer.ts'
import { ARCHIVE_VERSION } from '../../archive/lines.ts'
import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { listRoles } from '../../projects/roles.ts'
import type { DeclaredProject, DeclaredStage, DeclaredTable } from './declare-tables.ts'
import { eventPages } from './event-pages.ts'
import { tablePages } from './table-pages.ts'

export interface ArchiveSource {
  /** Reads control and system tables, in the snapshot. */
  readonly tx: Transaction
  readonly snapshotAt: Date
  readonly projects: readonly DeclaredProject[]
}

/** Told of a page of a table's rows, by the slug of the stage and the table's name. */
export type RowsObserver = (page: { readonly stage: string; readonly table: string; readonly rows: number }) => void

interface ExportArchiveOptions {
  readonly generator: string
  readonly createdAt: Date
  readonly onRows?: RowsObserver | undefined
}

/**
 * The archive, plain, in pieces of any size. Reading is what moves the export on: nothing is read from the database
 * ahead of the consumer, but for the one page that is fetched while another is used.
 *
 * @param generator name and version of what writes the archive.
 * @param createdAt the first line's date; nothing else in the archive depends on when it is made.
 */
export async function* exportArchive(
  { tx, snapshotAt, projects }: ArchiveSource,
  { generator, createdAt, onRows }: ExportArchiveOptions,
): AsyncGenerator<Buffer> {
  const writer = createArchiveWriter()
  yield writer.open('archive', {
    version: ARCHIVE_VERSION,
    createdAt: createdAt.toISOString(),
    snapshotAt: snapshotAt.toISOString(),
    generator,
  })
  for (const project of projects) yield* projectLines(writer, tx, project, onRows)
  yield writer.close('end')
}

async function* projectLines(
  writer: ArchiveWriter,
  tx: Transaction,
  { project, selection, tx: projectTx, stages }: DeclaredProject,
  onRows: RowsObserver | undefined,
): AsyncGenerator<Buffer> {
  const { slug, system, targetSlug } = selection
  yield writer.open('project', { slug, ...(targetSlug !== undefined && { targetSlug }), system })
  if (system) yield* systemLines(writer, tx, project.id, stages)
  for (const stage of stages) yield* stageLines(writer, projectTx, stage, onRows)
  yield writer.close('projectEnd')
}

async function* systemLines(
  writer: ArchiveWriter,
  tx: Transaction,
  projectId: string,
  stages: readonly DeclaredStage[],
): AsyncGenerator<Buffer> {
  yield writer.open('system', {})
  for (const role of await listRoles(tx, projectId)) yield writer.open('role', role)
  for await (const { events, lines } of eventPages(tx, stages)) yield writer.eventPage(events, lines)
  yield writer.close('systemEnd')
}

async function* stageLines(
  writer: ArchiveWriter,
  tx: Transaction,
  { stage, structure, tables }: DeclaredStage,
  onRows: RowsObserver | undefined,
): AsyncGenerator<Buffer> {
  // Names of the stage's own (in regclass values, say) are printed without a schema only when it is the one searched.
  await tx.$executeRawUnsafe(`SET LOCAL search_path = ${quoteIdentifier(stage.schemaName)}`)
  const { notExported, comment } = structure
  yield writer.open('stage', { slug: stage.slug, notExported, ...(comment !== undefined && { comment }) })
  for (const type of structure.types) yield writer.open(type.kind, type.content)
  for (const sequence of structure.sequences) yield writer.open('sequence', sequence)
  for (const { line } of tables) yield writer.open('table', line)
  for (const table of tables) {
    yield* tableRows(writer, tx, table, (rows) => onRows?.({ stage: stage.slug, table: table.line.name, rows }))
  }
  yield writer.close('stageEnd')
}

async function* tableRows(
  writer: ArchiveWriter,
  tx: Transaction,
  { line, columns, cursor }: DeclaredTable,
  onRows: (rows: number) => void,
): AsyncGenerator<Buffer> {
  yield writer.open('rows', { table: line.name, columns: columns.map(({ name }) => name) })
  for await (const { rows, lines } of tablePages(tx, cursor)) {
    yield writer.rowPage(rows, lines)
    onRows(rows)
  }
  // Open cursors keep their tables' pages pinned and, on a long export, memory in the server.
  await tx.$executeRawUnsafe(`CLOSE ${quoteIdentifier(cursor.name)}`)
  yield writer.close('rowsEnd')
}
