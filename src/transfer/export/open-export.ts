import { randomUUID } from 'node:crypto'
import { assertRowsThere, type RowsPolicy } from '../../archive/assert-rows.ts'
import { missingOf } from '../../contract/completeness.ts'
import type { ExportSelection } from '../../contract/export.ts'
import type { Database } from '../../database/database.ts'
import { endSessionsNamed } from '../../database/end-sessions.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { unreadableText } from '../../database/unreadable-text.ts'
import { AppError, conflict } from '../../errors.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { paced } from '../../lib/paced.ts'
import { letHeapGrow } from '../../lib/runtime.ts'
import type { FindRoles } from '../../projects/role-names.ts'
import type { NotExported } from '../structure/lines.ts'
import { type DeclaredProject, declareTables, StageMoved } from './declare-tables.ts'
import { type ArchiveSource, exportArchive, type RowsObserver } from './export-archive.ts'
import type { LineLimits } from './line-limits.ts'
import type { SnapshotOptions } from './locked-source.ts'
import type { SourceSnapshot } from './snapshot.ts'

/** How often an export starts over because a stage was changed or swapped while it was being opened. */
const MAX_ATTEMPTS = 10

/** What every export needs. */
export interface Writing {
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
  /** How many sessions read rows of one database side by side, at most; one, where it is left out. */
  readonly jobs?: number
  /** How fast the archive comes, at most, in bytes before it is compressed; as fast as it can, where it is left out. */
  readonly maxBytesPerSecond?: number
}

/**
 * What reads an archive.
 *
 * @param archive plain; it can be read once. @param notExported what it does not contain of the stages.
 */
export type UseExport<T> = (archive: AsyncGenerator<BorrowedBytes>, notExported: readonly NotInArchive[]) => Promise<T>

/** Something of a stage that an archive has no lines for. */
export interface NotInArchive extends NotExported {
  /** Only where the archive has several. */
  readonly project?: string
  readonly stage: string
}

const notInArchive = (projects: readonly DeclaredProject[]): readonly NotInArchive[] =>
  missingOf(
    projects.map(({ selection, stages }) => ({
      slug: selection.slug,
      stages: stages.map(({ stage, structure }) => ({ slug: stage.slug, notExported: structure.notExported })),
    })),
  )

/** An export that is being opened. */
export interface Opening extends SnapshotOptions {
  /** Hands the archive out, from where on nothing is begun again. @throws {AppError} INCOMPLETE */
  hand<T>(use: UseExport<T>, source: ArchiveSource): Promise<T>
}

/**
 * Opens an export, again and again where a stage was changed or swapped meanwhile.
 *
 * @param databases in which the export's sessions are, to be ended where it is given up while it is being opened.
 * @param open declares all that is exported, and hands it out. @throws {AppError} as `withExport`.
 */
export async function openExport<T>(
  { generator, config: limits }: Writing,
  databases: readonly Database[],
  open: (opening: Opening) => Promise<T>,
  options: ExportOptions,
): Promise<T> {
  const { signal, sessionName = `wharf export ${randomUUID()}`, onRows, jobs = 1, maxBytesPerSecond } = options
  const state = { isOpen: false }
  const endOpening = (): void => {
    if (state.isOpen) return
    void Promise.allSettled(databases.map(({ prisma }) => endSessionsNamed(prisma, sessionName)))
  }
  const opening: Opening = {
    sessionName,
    jobs,
    signal,
    hand(use, source) {
      const notExported = notInArchive(source.projects)
      assertRowsThere(notExported, options)
      state.isOpen = true
      const archive = exportArchive(source, { generator, createdAt: new Date(), limits, onRows })
      return use(maxBytesPerSecond ? paced(archive, maxBytesPerSecond, signal) : archive, notExported)
    },
  }
  signal?.addEventListener('abort', endOpening, { once: true })
  const stopGrowing = letHeapGrow()
  try {
    return await untilOpened(state, () => open(opening))
  } finally {
    stopGrowing()
    signal?.removeEventListener('abort', endOpening)
  }
}

/** Declares the tables of each source. @throws as `declareTables`. */
export async function declareAll(
  findRoles: FindRoles,
  sources: readonly SourceSnapshot[],
  selections: readonly ExportSelection[],
): Promise<readonly DeclaredProject[]> {
  const declared: DeclaredProject[] = []
  for (const [index, source] of sources.entries()) {
    const selection = selections[index]
    if (selection) declared.push(await declareTables(findRoles, source, selection))
  }
  return declared
}

/** Opens an export, and starts over where a stage was changed or swapped meanwhile. */
async function untilOpened<T>(state: { readonly isOpen: boolean }, open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open()
    } catch (error) {
      if (state.isOpen) throw error
      const failure = toFailure(error)
      if (failure) throw failure
      if (isPoolExhausted(error)) throw tooManyExports(error)
      if (!isMove(error)) throw error
      if (attempt === MAX_ATTEMPTS) throw conflict('the stage keeps changing its structure; try again later')
    }
  }
}

/** Explains to the caller of the export what PostgreSQL refuses for good reason. */
function toFailure(error: unknown): AppError | undefined {
  const state = sqlState(error)
  if (state === SQLSTATE.lockNotAvailable) {
    return conflict('a table that was to be exported stayed locked; try again when it has been changed')
  }
  if (state === SQLSTATE.insufficientPrivilege) {
    return conflict(`the project's own login may not read all of it: ${sqlMessage(error)}`)
  }
  return unreadableText(error, 'a name, or something else that describes the tables,', 'correct it in the database')
}

/** Prisma's code for a transaction that found no free connection in time. */
const isPoolExhausted = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'P2028'

const tooManyExports = (cause: unknown): AppError =>
  new AppError('DATABASE_UNAVAILABLE', 'too many exports are running; try again later', {
    cause,
    retryAfterSeconds: 60,
  })

const isMove = (error: unknown): boolean => {
  const state = sqlState(error)
  return error instanceof StageMoved || state === SQLSTATE.undefinedTable || state === SQLSTATE.undefinedSchema
}
