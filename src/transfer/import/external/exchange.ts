import { randomUUID } from 'node:crypto'
import { catalogOid } from '../../../database/catalog-oids.ts'
import { findOutsideUsers } from '../../../database/outside-users.ts'
import { quoteIdentifier } from '../../../database/quoting.ts'
import { nameSession } from '../../../database/session-name.ts'
import { openSingleUseSession } from '../../../database/single-use-session.ts'
import { isChangedMeanwhile, SQLSTATE, sqlState } from '../../../database/sqlstate.ts'
import { AppError, conflict, isAppError } from '../../../errors.ts'
import { logReplaced } from '../../../events/attached/log-import.ts'
import { findLog } from '../../../events/attached/log-triggers.ts'
import type { ProjectDatabase } from '../../../projects/stage-database.ts'
import type { Query } from '../../structure/query.ts'
import { assertSettled } from '../assert-settled.ts'
import { loadFailure } from '../load-failure.ts'
import type { SessionOptions } from '../loading-session.ts'
import { schemaRights } from '../stage-rights.ts'
import type { TargetStage } from '../target-stage.ts'
import { assertNothingBeingMade } from './being-made.ts'
import { commitOnce } from './commit-once.ts'
import { type CommittedImport, type Operation, recordCommitted } from './committed-imports.ts'
import { moveComments } from './move-comments.ts'
import { moveStatements } from './move-objects.ts'
import { preparedQuery, QUICK } from './prepared-query.ts'
import { moveTypes, readUsedTypes } from './staying-types.ts'
import { readStructureState } from './structure-state.ts'
import { type LockingSession, whileLocked } from './while-locked.ts'

/** A stage as it was when it was looked at. */
export interface ExchangedStage extends Pick<TargetStage, 'login' | 'exchanged' | 'structureState' | 'rightsState'> {
  readonly stage: Pick<TargetStage['stage'], 'schemaName'>
  /** Those that the schema has afterwards, where it takes the place of another one. */
  readonly rights: Pick<TargetStage['rights'], 'grants'>
}

/** What takes the place of a stage in a database that is not Wharf's. */
export interface Exchange {
  readonly target: ExchangedStage
  /** The schema that was loaded. */
  readonly loaded: string
  /** What the schema is called that what was replaced is in afterwards; null: it is dropped. */
  readonly kept: string | null
}

export interface ExchangeOptions extends SessionOptions {
  /** What is written down there with it; undefined where there is no place for it. */
  readonly record: { readonly operation: Operation; readonly committed: CommittedImport } | undefined
  /** What the stage's own log says of it, where it has one. */
  readonly logged: Parameters<typeof logReplaced>[2]
  /** Called when everything has changed places and nothing is committed, while readers wait; throws where it must not be. */
  readonly beforeCommit: () => Promise<void>
}

/**
 * Lets what was loaded take the places of stages, at one moment for everybody: while it does, all their tables and views are
 * locked, so that no transaction reads one as it was and another as it is.
 *
 * @throws {AppError} CONFLICT where the structure of a stage, or rights in it, are others than they were, or where somebody
 *   goes on using a table; what `beforeCommit` throws. Nothing has changed then. DATABASE_UNAVAILABLE where the database
 *   was lost, and it cannot be said whether it has.
 */
export async function exchangeStages(
  external: ProjectDatabase,
  exchanges: readonly Exchange[],
  { signal, sessionName = `wharf import ${randomUUID()}`, record, logged, beforeCommit }: ExchangeOptions,
): Promise<void> {
  const { client, close } = await openSingleUseSession(external.database.pool, signal)
  const run = async (statements: readonly string[]): Promise<void> => {
    if (statements.length > 0) await client.query(statements.join('; '))
  }
  const query = preparedQuery(client)
  try {
    await nameSession(client, sessionName)
    const schemas = exchanges.map(({ target }) => target.stage.schemaName)
    const moves = await prepare({ run, query }, exchanges)
    const logs: { readonly id: string; readonly schemaName: string }[] = []
    for (const schemaName of schemas) {
      const id = await findLog(query, schemaName)
      if (id !== undefined) logs.push({ id, schemaName })
    }
    const before = async (): Promise<void> => {
      if (record) await recordCommitted(query, record.operation, record.committed)
    }
    await whileLocked({ run, query, signal }, { schemas, before }, async () => {
      for (const exchange of exchanges) {
        await assertUnchanged(query, exchange.target).catch((error: unknown) => {
          throw exchangeFailure(exchange, error)
        })
      }
      for (const [at, exchange] of exchanges.entries()) {
        await exchangeStage(exchange, moves[at] ?? [], { run, query }).catch((error: unknown) => {
          throw exchangeFailure(exchange, error)
        })
      }
      for (const log of logs) await logReplaced(query, log, logged)
    })
    await beforeCommit()
    await commitOnce(() => client.query('COMMIT'), { ...external, sessionName, operation: record?.operation })
  } finally {
    close(new Error('the exchange has ended'))
  }
}

/**
 * Asks once what is going to be asked while readers wait, so that it is planned, and its catalogs are in memory.
 *
 * @returns the statements that move the objects of each, or, where schemas change their names, the types that stay: they are
 *   good as long as its structure is what it was.
 */
async function prepare(
  { run, query }: Pick<LockingSession, 'run' | 'query'>,
  exchanges: readonly Exchange[],
): Promise<readonly (readonly string[])[]> {
  await run(['BEGIN', 'SET LOCAL search_path = pg_catalog', ...QUICK])
  const moves: (readonly string[])[] = []
  for (const exchange of exchanges) {
    const { target, loaded } = exchange
    const { schemaName } = target.stage
    // What it finds counts when everything is locked.
    await assertUnchanged(query, target).catch((error: unknown) => {
      if (!isAppError(error)) throw exchangeFailure(exchange, error)
    })
    const types = await readUsedTypes(query, schemaName, loaded)
    const old = oldName(exchange)
    if (target.exchanged === 'schemas') {
      moves.push(moveTypes(types, old, schemaName))
      continue
    }
    const staying = types.map(({ oid }) => oid)
    moves.push([
      ...(await moveStatements(query, { from: schemaName, to: old, staying })),
      ...(await moveStatements(query, { from: loaded, to: schemaName })),
      ...(await moveComments(query, { from: loaded, to: schemaName, old })),
    ])
  }
  await run(['ROLLBACK'])
  return moves
}

/** @throws {AppError} CONFLICT */
async function assertUnchanged(query: Query, { stage: { schemaName }, structureState, rightsState }: ExchangedStage) {
  if ((await readStructureState(query, schemaName)) !== structureState) {
    throw structureChanged(schemaName)
  }
  const [user] = await findOutsideUsers(query, schemaName, { besidesImports: true })
  if (user !== undefined) {
    throw conflict(
      `${user}, outside of "${schemaName}", came to depend on it while the import ran; nothing was changed`,
    )
  }
  await assertNothingBeingMade(query, schemaName)
  await assertSettled(query, { schemaName, rightsState })
}

const structureChanged = (schemaName: string, cause?: unknown): AppError =>
  new AppError(
    'CONFLICT',
    `the structure of "${schemaName}" was changed while the import ran; nothing was changed, try again`,
    { cause },
  )

/** @returns where a lock was not to be had, what PostgreSQL says, so that it is tried again. */
function exchangeFailure({ target }: Exchange, error: unknown): unknown {
  if (sqlState(error) === SQLSTATE.lockNotAvailable) return error
  if (isChangedMeanwhile(error)) return structureChanged(target.stage.schemaName, error)
  return loadFailure(error)
}

/** What the schema is called that what was replaced goes to. */
const oldName = ({ loaded, kept }: Pick<Exchange, 'loaded' | 'kept'>): string => kept ?? `${loaded}_old`

/** In few messages: readers wait for it. @param moves as `prepare` gives them. */
async function exchangeStage(
  { target, loaded, kept }: Exchange,
  moves: readonly string[],
  { run, query }: Pick<LockingSession, 'run' | 'query'>,
) {
  const { schemaName } = target.stage
  const old = oldName({ loaded, kept })
  const drop = kept === null ? [`DROP SCHEMA ${quoteIdentifier(old)} CASCADE`] : []
  if (target.exchanged === 'schemas') {
    await run([
      `ALTER SCHEMA ${quoteIdentifier(schemaName)} RENAME TO ${quoteIdentifier(old)}`,
      `ALTER SCHEMA ${quoteIdentifier(loaded)} RENAME TO ${quoteIdentifier(schemaName)}`,
      ...moves,
      ...schemaRights(target.rights.grants, target.login, quoteIdentifier(schemaName)),
      ...drop,
    ])
    return
  }
  await run([`CREATE SCHEMA ${quoteIdentifier(old)}`, ...moves])
  const left = await query<{ what: string }>(LEFT_SQL, [loaded])
  if (left[0]) throw conflict(`nothing was changed: ${left[0].what} cannot be moved to the schema "${schemaName}"`)
  // With what was said there about rights on what would be made.
  await run([`DROP SCHEMA ${quoteIdentifier(loaded)} CASCADE`, ...drop])
}

const LEFT_SQL = `
SELECT pg_catalog.pg_describe_object(classid, objid, objsubid) AS what FROM pg_catalog.pg_depend
 WHERE refclassid = ${catalogOid('pg_namespace')}
   AND refobjid = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1))::pg_catalog.oid
   AND classid <> ${catalogOid('pg_default_acl')}
 LIMIT 1`
