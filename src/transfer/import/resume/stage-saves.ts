import type { Database } from '../../../database/database.ts'
import { AppError } from '../../../errors.ts'
import { closeSchema, reopenSchema } from '../../../projects/project-objects.ts'
import type { Query } from '../../structure/query.ts'
import { readStructureState } from '../external/structure-state.ts'
import type { LoadingSession } from '../loading-session.ts'
import { hasTriggers, isOnlyOurs, type Loaded } from './is-only-ours.ts'
import type { SavedLoad, SaveRecord } from './saved-load.ts'

/** An attempt at a job that imports, whose next attempt has the same archive. */
export interface ResumableAttempt {
  readonly jobId: string
  readonly attempt: number
  /** Tells the archive from every other one. */
  readonly archive: string
  /** For how long is loaded before it is committed, in milliseconds. */
  readonly saveMs: number
}

/** What is committed of a stage that is being loaded. */
export interface StageSaves {
  /** What earlier attempts have loaded. */
  readonly found: SavedLoad | undefined
  /** Whether something is committed. */
  readonly isBegun: boolean
  /** Whether something is, and the next attempt goes on with it. */
  readonly isKept: boolean
  /** For how long is loaded before it is committed, in milliseconds. */
  readonly everyMs: number
  /** Says that a subtransaction has loaded rows. @param id as `xmin` has it. */
  noteSubtransaction(id: string): void
  /**
   * Commits what a session has loaded, and goes on in a transaction of its own. In between, the schema is closed to the project.
   *
   * @throws {AppError} CONFLICT where somebody has changed the structure meanwhile.
   */
  save(session: LoadingSession, loaded: LoadedSoFar): Promise<void>
  /**
   * Commits what one of several sessions has loaded that load side by side, for which the schema stays open; one after the other.
   *
   * @param loadedNow what is committed, and what the session has loaded; asked when it is its turn. @param commit does it.
   * @throws {AppError} CONFLICT where a table has a trigger, which may have changed what was loaded.
   */
  saveBeside(session: LoadingSession, loadedNow: () => LoadedSoFar, commit: () => Promise<void>): Promise<void>
  /** Makes sure that nobody else has changed anything of it. @throws {AppError} CONFLICT */
  assertUntouched(session: LoadingSession, tables: Loaded['tables']): Promise<void>
  /** Writes down that the transaction of a session, which is committed next, loads and builds the rest. */
  noteWhole(session: LoadingSession, loaded: Pick<SavedLoad, 'tables' | 'finished' | 'whole'>): Promise<void>
  /** The ids of the transactions that have been committed. */
  readonly ids: readonly string[]
}

type LoadedSoFar = Pick<SavedLoad, 'tables' | 'finished'>

interface Saved {
  readonly schemaName: string
  /** The project's. */
  readonly login: string
  /** Undefined where nobody goes on with what is committed: it is not written down then. */
  readonly attempt: ResumableAttempt | undefined
  /** As `loadsOf` gives it. */
  readonly loads: string
  readonly found: SavedLoad | undefined
}

export function stageSaves(system: Database, { schemaName, login, attempt, loads, found }: Saved): StageSaves {
  let last = found
  let saving: Promise<void> = Promise.resolve()
  const subtransactions = new Set<string>()

  const idsWith = (own: string): readonly string[] => [...new Set([...(last?.ids ?? []), ...subtransactions, own])]

  /** @returns what is written down, once it is. */
  const record = async (
    session: LoadingSession,
    loaded: Pick<SavedLoad, 'tables' | 'finished' | 'whole'>,
  ): Promise<SavedLoad> => {
    const transaction = await transactionOf(session)
    const ids = [...idsWith(idOf(transaction))]
    if (!attempt) return { ...loaded, ids, structureState: '' }
    const structureState = await readStructureState(queryOf(session), schemaName)
    const after: SavedLoad = { ...loaded, ids, structureState }
    await write(system, schemaName, attempt, { loads, before: last ?? null, transaction, after })
    return after
  }

  return {
    found,
    get isBegun() {
      return last !== undefined
    },
    get isKept() {
      return last !== undefined && attempt !== undefined
    },
    get ids() {
      return last?.ids ?? []
    },
    everyMs: attempt?.saveMs ?? Number.POSITIVE_INFINITY,
    noteSubtransaction: (id) => subtransactions.add(id),
    async save(session, loaded) {
      const after = await record(session, { ...loaded, whole: null })
      await system.prisma.$executeRawUnsafe(closeSchema(schemaName, login))
      await session.goOn(async () => {
        last = after
        await reopen(system, { schemaName, login, attempt })
      })
      if (!attempt) return
      if ((await readStructureState(queryOf(session), schemaName)) !== after.structureState) throw changedMeanwhile()
    },
    saveBeside(session, loadedNow, commit) {
      const saved = saving.then(async () => {
        const after = await record(session, { ...loadedNow(), whole: null })
        if (await hasTriggers(queryOf(session), schemaName)) throw changedMeanwhile()
        await commit()
        last = after
      })
      // Who comes next learns of it by what is wrong then.
      saving = saved.catch(() => undefined)
      return saved
    },
    async assertUntouched(session, tables) {
      const own = idOf(await transactionOf(session))
      const isUntouched = await isOnlyOurs(queryOf(session), { schemaName, tables, ids: idsWith(own) })
      if (isUntouched) return
      if (attempt) await forget(system, schemaName)
      throw changedMeanwhile()
    },
    async noteWhole(session, loaded) {
      if (attempt) await record(session, loaded)
    },
  }
}

const queryOf =
  (session: LoadingSession): Query =>
  (sql, parameters) =>
    session.query(sql, parameters)

async function transactionOf(session: LoadingSession): Promise<string> {
  const [row] = await session.query<{ id: string }>('SELECT pg_catalog.pg_current_xact_id()::text AS id')
  return row?.id ?? ''
}

/** The 32 bits of a transaction's id that `xmin` has. */
const idOf = (transaction: string): string => (BigInt(transaction) % 2n ** 32n).toString()

/** @throws where a later attempt has taken the schema over, or it is gone: nothing may be committed then. */
async function write(
  { prisma }: Database,
  schemaName: string,
  { jobId, attempt }: ResumableAttempt,
  record: SaveRecord,
): Promise<void> {
  const written = await prisma.$executeRaw`
    UPDATE system.side_schema SET job_id = ${jobId}::uuid, attempt = ${attempt}, saved = ${JSON.stringify(record)}::jsonb
     WHERE schema_name = ${schemaName} AND (job_id IS NULL OR job_id = ${jobId}::uuid AND attempt = ${attempt})`
  if (written !== 1) throw takenOver()
}

/** Lets the project's login go on in the schema. @throws where a later attempt has taken that over: it may have closed it. */
export async function reopen(
  { prisma }: Database,
  { schemaName, login, attempt }: Pick<Saved, 'schemaName' | 'login' | 'attempt'>,
): Promise<void> {
  if (!attempt) {
    await prisma.$executeRawUnsafe(reopenSchema(schemaName, login))
    return
  }
  await prisma.$transaction(async (tx) => {
    const ours = await tx.$queryRaw<unknown[]>`
      SELECT FROM system.side_schema WHERE schema_name = ${schemaName} AND attempt = ${attempt.attempt} FOR UPDATE`
    if (ours.length !== 1) throw takenOver()
    await tx.$executeRawUnsafe(reopenSchema(schemaName, login))
  })
}

const takenOver = (): Error => new Error('what was loaded is another attempt’s by now')

/** The next attempt loads everything again. */
const forget = ({ prisma }: Database, schemaName: string): Promise<number> =>
  prisma.$executeRaw`UPDATE system.side_schema SET saved = NULL WHERE schema_name = ${schemaName}`

const changedMeanwhile = (): AppError =>
  new AppError(
    'CONFLICT',
    'what was loaded beside the stage was changed by SQL of the project before it was whole; nothing was changed in the ' +
      'stage, try again',
    { retryAfterSeconds: 1 },
  )
