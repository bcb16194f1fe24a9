import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { quoteIdentifier, quoteQualified } from '../../../database/quoting.ts'
import { nameSession } from '../../../database/session-name.ts'
import { openSingleUseSession } from '../../../database/single-use-session.ts'
import { SQLSTATE, sqlState } from '../../../database/sqlstate.ts'
import { conflict } from '../../../errors.ts'
import { stillLocked } from '../../../projects/lock-owners.ts'
import type { ProjectDatabase } from '../../../projects/stage-database.ts'
import { findOutsideUsers } from '../../structure/outside-users.ts'
import type { Query } from '../../structure/query.ts'
import { assertSettled } from '../assert-settled.ts'
import { loadFailure } from '../load-failure.ts'
import type { SessionOptions } from '../loading-session.ts'
import { schemaRights } from '../stage-rights.ts'
import type { TargetStage } from '../target-stage.ts'
import { commitOnce } from './commit-once.ts'
import { type CommittedImport, type Operation, recordCommitted } from './committed-imports.ts'
import { moveStatements } from './move-objects.ts'
import { readStructureState } from './structure-state.ts'

/** A stage as it was when it was looked at. */
export interface ExchangedStage
  extends Pick<TargetStage, 'stage' | 'login' | 'exchanged' | 'structureState' | 'rightsState'> {
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
  /** Called when everything has changed places and nothing is committed, while readers wait; throws where it must not be. */
  readonly beforeCommit: () => Promise<void>
}

/** How long it is waited for those who use the tables, in milliseconds: everybody else waits behind us meanwhile. */
const LOCK_MS = 150

/** For how long that is tried, in milliseconds, and how long the others have between two tries. */
const PATIENCE_MS = 60_000
const PAUSE_MS = { least: 50, most: 400 }

/** How long the session may wait for us while readers wait for it, in milliseconds. */
const IDLE_MS = 2_000

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
  { signal, sessionName = `wharf import ${randomUUID()}`, record, beforeCommit }: ExchangeOptions,
): Promise<void> {
  const { client, close } = await openSingleUseSession(external.database.pool, signal)
  const run = async (statements: readonly string[]): Promise<void> => {
    if (statements.length > 0) await client.query(statements.join('; '))
  }
  const query: Query = async (sql, parameters) => (await client.query(sql, [...parameters])).rows
  try {
    await nameSession(client, sessionName)
    await lockPatiently(exchanges, { run, query, signal })
    for (const { target } of exchanges) await assertUnchanged(query, target)
    for (const exchange of exchanges) {
      await exchangeStage(exchange, { run, query }).catch((error: unknown) => {
        throw loadFailure(error)
      })
    }
    if (record) await recordCommitted(query, record.operation, record.committed)
    await beforeCommit()
    await commitOnce(() => client.query('COMMIT'), { ...external, sessionName, operation: record?.operation })
  } finally {
    close(new Error('the exchange has ended'))
  }
}

interface LockingSession {
  run(statements: readonly string[]): Promise<void>
  readonly query: Query
  readonly signal: AbortSignal
}

async function lockPatiently(exchanges: readonly Exchange[], { run, query, signal }: LockingSession): Promise<void> {
  const schemas = exchanges.map(({ target }) => target.stage.schemaName)
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    await run([
      'BEGIN',
      'SET LOCAL search_path = pg_catalog',
      `SET LOCAL lock_timeout = ${LOCK_MS}`,
      `SET LOCAL statement_timeout = ${LOCK_MS}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
    ])
    try {
      const relations = await query<{ schema: string; name: string }>(RELATIONS_SQL, [JSON.stringify(schemas)])
      const names = relations.map(({ schema, name }) => quoteQualified(schema, name))
      if (names.length > 0) await run([`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`])
      await run(['SET LOCAL statement_timeout = 0'])
      return
    } catch (error) {
      await run(['ROLLBACK'])
      const state = sqlState(error)
      // A relation that is gone since is found out about by the comparison.
      if (state !== SQLSTATE.lockNotAvailable && state !== SQLSTATE.queryCanceled) throw error
      if (performance.now() > until) {
        const what = 'nothing was changed: somebody goes on using a table of the stage'
        throw await stillLocked(query, { schemaName: schemas[0] ?? '', what, cause: error })
      }
    }
    const pause = PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least)
    await sleep(pause, undefined, { signal })
  }
}

// Views before what they read, as those who read them lock it. Materialized views are locked when they are moved.
const RELATIONS_SQL = `
SELECT n.nspname::text AS schema, c.relname::text AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname IN (SELECT pg_catalog.json_array_elements_text($1::pg_catalog.json)) AND c.relkind IN ('r', 'p', 'v')
 ORDER BY c.relkind = 'v' DESC, CASE WHEN c.relkind = 'v' THEN -c.oid::pg_catalog.int8 ELSE c.oid::pg_catalog.int8 END`

/** @throws {AppError} CONFLICT */
async function assertUnchanged(query: Query, { stage: { schemaName }, structureState, rightsState }: ExchangedStage) {
  if ((await readStructureState(query, schemaName)) !== structureState) {
    throw conflict(`the structure of "${schemaName}" was changed while the import ran; nothing was changed, try again`)
  }
  const [user] = await findOutsideUsers(query, schemaName)
  if (user !== undefined) {
    throw conflict(
      `${user}, outside of "${schemaName}", came to depend on it while the import ran; nothing was changed`,
    )
  }
  await assertSettled(query, { schemaName, rightsState })
}

/** In few messages: readers wait for it. */
async function exchangeStage({ target, loaded, kept }: Exchange, { run, query }: Omit<LockingSession, 'signal'>) {
  const { schemaName } = target.stage
  const old = kept ?? `${loaded}_old`
  const drop = kept === null ? [`DROP SCHEMA ${quoteIdentifier(old)} CASCADE`] : []
  if (target.exchanged === 'schemas') {
    await run([
      `ALTER SCHEMA ${quoteIdentifier(schemaName)} RENAME TO ${quoteIdentifier(old)}`,
      `ALTER SCHEMA ${quoteIdentifier(loaded)} RENAME TO ${quoteIdentifier(schemaName)}`,
      ...schemaRights(target.rights.grants, target.login, quoteIdentifier(schemaName)),
      ...drop,
    ])
    return
  }
  await run([
    `CREATE SCHEMA ${quoteIdentifier(old)}`,
    ...(await moveStatements(query, schemaName, old)),
    ...(await moveStatements(query, loaded, schemaName)),
  ])
  const left = await query<{ what: string }>(LEFT_SQL, [loaded])
  if (left[0]) throw conflict(`nothing was changed: ${left[0].what} cannot be moved to the schema "${schemaName}"`)
  // With what was said there about rights on what would be made.
  await run([`DROP SCHEMA ${quoteIdentifier(loaded)} CASCADE`, ...drop])
}

const LEFT_SQL = `
SELECT pg_catalog.pg_describe_object(classid, objid, objsubid) AS what FROM pg_catalog.pg_depend
 WHERE refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
   AND refobjid = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1))
   AND classid <> 'pg_catalog.pg_default_acl'::pg_catalog.regclass
 LIMIT 1`
