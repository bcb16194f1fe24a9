import type { ArchiveWriter } from '../../archive/archive-writer.ts'
import { ARCHIVE_VERSION } from '../../archive/lines.ts'
import type { Transaction } from '../../database/database.ts'
import { unreadableText } from '../../database/unreadable-text.ts'
import { attachedEventPages } from '../../events/attached/attached-event-pages.ts'
import { eventPages } from '../../events/event-pages.ts'
import { readLogStart } from '../../events/log-start.ts'
import { type BorrowedBytes, borrowed } from '../../lib/borrowed-bytes.ts'
import { createTurns } from '../../lib/give-way.ts'
import type { ReusedMemory } from '../../lib/reused-memory.ts'
import { rowsShare } from '../../lib/thread-share.ts'
import { listRoles } from '../../projects/roles.ts'
import { searchStage } from '../../projects/stage-path.ts'
import { createPageMemory, type RangePage } from '../../rows/portal.ts'
import { nameOf, toGrantsLine } from '../structure/grants/grants.ts'
import type { DeclaredProject, DeclaredStage, DeclaredTable } from './declare-tables.ts'
import { assertReadable, createLineLimit, type LineLimits } from './line-limits.ts'
import { createReadableWriter } from './readable-writer.ts'
import type { ReadingSession } from './reading-session.ts'
import { RowStream, type StreamedTable, tableRows } from './row-stream.ts'
import type { SourceSnapshot } from './snapshot.ts'
import { partOf } from './table-cursors.ts'

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

/** How long lines of a structure hold the event loop before others get a turn, in milliseconds. */
const TURN_MS = 5

interface Writing {
  readonly writer: ArchiveWriter
  /** Of the pages with rows. */
  readonly memory: ReusedMemory
  readonly limits: LineLimits
  readonly onRows: RowsObserver | undefined
}

/**
 * The archive, plain, in pieces of any size. Reading is what moves the export on: nothing is read from the database
 * ahead of the consumer, but for a bounded number of bytes in each session.
 *
 * @param generator name and version of what writes the archive.
 * @param createdAt the first line's date; nothing else in the archive depends on when it is made.
 * @param limits of this server's imports. @throws {AppError} CONFLICT where a line is longer, or lines are more, than is read: it
 *   could not be restored.
 */
export const exportArchive = (
  source: ArchiveSource,
  options: ExportArchiveOptions,
): AsyncGenerator<BorrowedBytes, void, undefined> => borrowed(archiveLines(source, options))

/** @yields lines in memory that is used again once the next are asked for. */
async function* archiveLines(
  { projects, records }: ArchiveSource,
  { generator, createdAt, limits, onRows }: ExportArchiveOptions,
): AsyncGenerator<Buffer> {
  const writer = createReadableWriter()
  const memory = createPageMemory()
  const moments = projects.map(({ source: { takenAt } }) => takenAt)
  // Projects of one snapshot have the same object: two snapshots can be of the same millisecond, and are not one moment.
  const isOneMoment = moments.every((moment) => moment === moments[0])
  yield writer.open('archive', {
    version: ARCHIVE_VERSION,
    createdAt: createdAt.toISOString(),
    snapshotAt: new Date(Math.min(...moments.map(Number))).toISOString(),
    generator,
  })
  for (const project of projects) {
    yield* projectLines({ writer, memory, limits, onRows }, project, { records, isOneMoment })
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
  const streams = openStreams(source, stages, writing.memory)
  for (const stage of stages) yield* stageLines(writing, streams, { ...stage, isOwn: source.isOwn })
  yield writer.close('projectEnd')
}

async function* systemLines(
  { writer, limits }: Writing,
  { tx, projectId }: ProjectRecords,
  { source, stages }: Pick<DeclaredProject, 'source' | 'stages'>,
): AsyncGenerator<Buffer> {
  const eventsSince = await readLogStart(
    tx,
    stages.map(({ stage }) => stage.id),
  )
  yield writer.open('system', { ...(eventsSince !== undefined && { eventsSince }) })
  for (const role of await listRoles(tx, projectId)) yield writer.open('role', role)
  for (const { stage } of stages) {
    const logs = [eventPages(tx, stage), ...(stage.loggedSince ? [attachedEventPages(source.session, stage)] : [])]
    for (const log of logs) {
      for await (const { events, lines } of log) {
        yield assertReadable(writer.eventPage(events, lines), 'event', 'an event of the log', limits)
      }
    }
  }
  yield writer.close('systemEnd')
}

/** Streams of rows, by session; each is begun when it is first asked for. */
type OpenStream = (session: ReadingSession) => RowStream

function openStreams(
  { extensionSchemas }: SourceSnapshot,
  stages: readonly DeclaredStage[],
  memory: ReusedMemory,
): OpenStream {
  const open = new Map<ReadingSession, RowStream>()
  return (session) => {
    const tables = (): StreamedTable[] =>
      stages.flatMap(({ stage, tables }) =>
        tables
          .filter(({ cursors }) => cursors.sessions.includes(session))
          .map(({ cursors }) => ({ table: cursors, searchPath: searchStage(stage.schemaName, extensionSchemas) })),
      )
    const stream = open.get(session) ?? new RowStream(session, tables(), memory)
    open.set(session, stream)
    return stream
  }
}

async function* stageLines(
  writing: Writing,
  streams: OpenStream,
  { stage, structure, grants, tables, isOwn }: DeclaredStage & Pick<SourceSnapshot, 'isOwn'>,
): AsyncGenerator<Buffer> {
  const { writer, limits } = writing
  const { notExported, comment } = structure
  const complete = notExported.length === 0
  yield writer.open('stage', {
    ...{ slug: stage.slug, notExported, complete },
    ...(grants && { grants: true }),
    ...(!isOwn && { sourceSchema: stage.schemaName }),
    ...(comment !== undefined && { comment }),
  })
  for (const { line } of structure.extensions) yield writer.open('extension', line)
  for (const sequence of structure.sequences) yield writer.open('sequence', sequence)
  const turn = createTurns(TURN_MS)
  for (const { line } of structure.inOrder) {
    const { kind, content } = line
    const others = turn()
    if (others !== undefined) await others
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
  for (const table of tables) yield* tableLines(writing, streams, stage.slug, table)
  yield writer.close('stageEnd')
}

async function* tableLines(
  { writer, memory, limits, onRows }: Writing,
  streams: OpenStream,
  stage: string,
  { line, columns, cursors }: DeclaredTable,
): AsyncGenerator<Buffer> {
  const open = (part: number): Buffer =>
    writer.open('rows', { table: line.name, columns: columns.map(({ name }) => name), part })
  const limited = createLineLimit('row', `a row of table "${line.name}"`, limits)
  let part = 1
  /** Which part of the table's blocks: blocks without rows have none in the archive. */
  let blocks: number | undefined
  yield open(part)
  for await (const { range, rows, lines } of readableRows(
    line.name,
    tableRows(cursors, cursors.sessions.map(streams)),
  )) {
    const among = partOf(range)
    if (blocks !== undefined && blocks !== among) {
      yield writer.close('rowsEnd', { last: false })
      part += 1
      yield open(part)
    }
    blocks = among
    yield limited(rowsShare.count(() => writer.rows(rows, lines)))
    memory.giveBack(lines)
    onRows?.({ stage, table: line.name, rows })
    // Pages that were read ahead are there at once, so that awaiting them gives nobody else a turn.
    if (rowsShare.isUsedUp()) await new Promise<void>((resolve) => rowsShare.onceThereIsTime(resolve))
  }
  yield writer.close('rowsEnd')
}

const REMEDY = 'correct it in the database, or leave the table out (--exclude-table, excludeTables)'

/** @throws {AppError} CONFLICT that names the table where a row has text that cannot be in an archive. */
async function* readableRows(table: string, pages: AsyncGenerator<RangePage>): AsyncGenerator<RangePage> {
  try {
    yield* pages
  } catch (error) {
    throw unreadableText(error, `a row of table "${table}"`, REMEDY) ?? error
  }
}
