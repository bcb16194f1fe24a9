import { randomUUID } from 'node:crypto'
import { assertRowsThere, type RowsPolicy } from '../../archive/assert-rows.ts'
import type { ExportSelection } from '../../contract/export.ts'
import type { Database } from '../../database/database.ts'
import { endSessionsNamed } from '../../database/end-sessions.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { AppError, conflict, invalidRequest } from '../../errors.ts'
import { unlessDeleted } from '../../projects/deleted-meanwhile.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Turns } from '../../projects/turns.ts'
import type { NotExported } from '../structure/lines.ts'
import { type DeclaredProject, declareTables, StageMoved } from './declare-tables.ts'
import { exportArchive, type RowsObserver } from './export-archive.ts'
import { findSelection } from './export-selection.ts'
import type { LineLimits } from './line-limits.ts'
import { type Snapshot, type SnapshotProject, withSnapshot } from './snapshot.ts'

/** How often an export starts over because a stage was changed or swapped while it was being opened. */
const MAX_ATTEMPTS = 10

export interface ExportServices {
  readonly control: Database
  readonly system: Database
  /** Lends connections that last as long as an export. */
  readonly snapshots: Database
  readonly projectDatabase: FindProjectDatabase
  /** The projects' turns: how many exports each may have under way here. */
  readonly exportTurns: Turns
  /** Name and version of what writes the archive. */
  readonly generator: string
  readonly config: LineLimits
}

export interface ExportOptions extends RowsPolicy {
  /** What PostgreSQL calls the export's sessions (`application_name`), so that others can find and end them. */
  readonly sessionName?: string
  /**
   * Ends an export that has not begun to hand anything out, whatever it waits for: another session's lock may keep it
   * waiting for long. Later, the reader ends the export by reading no further.
   */
  readonly signal?: AbortSignal
  /** Called as rows are handed out. */
  readonly onRows?: RowsObserver
}

/**
 * Opens an export of one or more projects, all from one snapshot, and closes it when `use` has ended: its
 * transactions are over when the returned promise is settled.
 *
 * @param use gets the archive, plain, to be read once, and what of the stages it cannot hold; by then everything that
 *   could be refused has been checked.
 * @throws {AppError} INVALID_REQUEST where a project is selected twice; NOT_FOUND for an unknown project, stage or
 *   table; INCOMPLETE where rows would be missing, and that is not allowed; CONFLICT where a table may not be read, or stays locked, or stages keep being swapped, for too long;
 *   PROJECT_BUSY where it has too many exports under way;
 *   DATABASE_UNAVAILABLE where no connection becomes free.
 */
export async function withExport<T>(
  services: ExportServices,
  selections: readonly ExportSelection[],
  use: (archive: AsyncGenerator<Buffer>, notExported: readonly NotInArchive[]) => Promise<T>,
  options: ExportOptions = {},
): Promise<T> {
  assertDistinct(selections)
  const projects = await Promise.all(selections.map((selection) => findSelected(services, selection)))
  const { signal, sessionName = `wharf export ${randomUUID()}` } = options
  const opening = { done: false }
  const endOpening = (): void => {
    if (!opening.done) void Promise.allSettled([endSessionsNamed(services.system.prisma, sessionName)])
  }
  const withDeclared = async (snapshot: Snapshot): Promise<T> => {
    const declared = await declareAll(services, snapshot, selections)
    const notExported = notInArchive(declared)
    assertRowsThere(notExported, options)
    opening.done = true
    const source = { tx: snapshot.tx, snapshotAt: snapshot.takenAt, projects: declared }
    const { generator, config: limits } = services
    const archive = exportArchive(source, { generator, createdAt: new Date(), limits, onRows: options.onRows })
    return use(archive, notExported)
  }
  signal?.addEventListener('abort', endOpening, { once: true })
  try {
    const projectIds = projects.map(({ project }) => project.id)
    const slugs = projects.map(({ project }) => project.slug)
    return await unlessDeleted(services.control.prisma, slugs, () =>
      services.exportTurns.take(projectIds, () =>
        untilOpened(opening, () => withSnapshot(services, projects, withDeclared, { sessionName, signal })),
      ),
    )
  } finally {
    signal?.removeEventListener('abort', endOpening)
  }
}

/** Opens an export, and starts over where a stage was changed or swapped meanwhile. */
async function untilOpened<T>(opening: { readonly done: boolean }, open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open()
    } catch (error) {
      if (opening.done) throw error
      const failure = toFailure(error)
      if (failure) throw failure
      if (isPoolExhausted(error)) throw tooManyExports(error)
      if (!isMove(error)) throw error
      if (attempt === MAX_ATTEMPTS) throw conflict('the stage keeps changing its structure; try again later')
    }
  }
}

/** Something of a stage that an archive has no lines for. */
export interface NotInArchive extends NotExported {
  readonly stage: string
}

const notInArchive = (projects: readonly DeclaredProject[]): readonly NotInArchive[] =>
  projects.flatMap(({ stages }) =>
    stages.flatMap(({ stage, structure }) => structure.notExported.map((thing) => ({ stage: stage.slug, ...thing }))),
  )

/** Explains to the caller of the export what PostgreSQL refuses for good reason. */
function toFailure(error: unknown): AppError | undefined {
  const state = sqlState(error)
  if (state === SQLSTATE.lockNotAvailable) {
    return conflict('a table that was to be exported stayed locked; try again when it has been changed')
  }
  if (state === SQLSTATE.insufficientPrivilege) {
    return conflict(`the project's own login may not read all of it: ${sqlMessage(error)}`)
  }
  return undefined
}

/** Prisma's code for a transaction that found no free connection in time. */
const isPoolExhausted = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'P2028'

const tooManyExports = (cause: unknown): AppError =>
  new AppError('DATABASE_UNAVAILABLE', 'too many exports are running; try again later', {
    cause,
    retryAfterSeconds: 60,
  })

function assertDistinct(selections: readonly ExportSelection[]): void {
  const faults = selections.flatMap(({ slug }, index) =>
    selections.findIndex((other) => other.slug === slug) < index
      ? [{ pointer: `/projects/${index}/slug`, detail: `project "${slug}" is selected twice` }]
      : [],
  )
  if (faults.length > 0) throw invalidRequest('each project can be exported once', faults)
}

async function findSelected(
  { control, projectDatabase }: ExportServices,
  selection: ExportSelection,
): Promise<SnapshotProject> {
  const { project, stages } = await findSelection(control.prisma, selection)
  const { database } = await projectDatabase(project, 'exports')
  return { project, stages, database }
}

async function declareAll(
  { system, control }: Pick<ExportServices, 'system' | 'control'>,
  snapshot: Snapshot,
  selections: readonly ExportSelection[],
): Promise<readonly DeclaredProject[]> {
  const declared: DeclaredProject[] = []
  for (const [index, project] of snapshot.projects.entries()) {
    const selection = selections[index]
    if (selection) declared.push(await declareTables(control.prisma, project, selection))
  }
  await assertNotSwapped(system, snapshot)
  return declared
}

/**
 * Compares the generation of every stage in the snapshot with the one of this moment. PostgreSQL looks a table up
 * by its name when a cursor is declared, also in an old snapshot, so that a swap which came between the two would
 * give the cursor the new table.
 */
async function assertNotSwapped(system: Database, snapshot: Snapshot): Promise<void> {
  const stageIds = snapshot.projects.flatMap(({ stages }) => stages.map(({ id }) => id))
  const generations = { where: { stageId: { in: stageIds } }, select: { stageId: true, generation: true } }
  const then = await snapshot.tx.stageState.findMany(generations)
  const now = new Map(
    (await system.prisma.stageState.findMany(generations)).map((row) => [row.stageId, row.generation]),
  )
  for (const { stageId, generation } of then) {
    if (now.get(stageId) !== generation) throw new StageMoved('a stage was swapped while its cursors were declared')
  }
}

const isMove = (error: unknown): boolean => {
  const state = sqlState(error)
  return error instanceof StageMoved || state === SQLSTATE.undefinedTable || state === SQLSTATE.undefinedSchema
}
