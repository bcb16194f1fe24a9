import { setTimeout as sleep } from 'node:timers/promises'
import { quoteQualified } from '../../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../../database/sqlstate.ts'
import { stillLocked } from '../../../projects/lock-owners.ts'
import { IS_OWN_SQL } from '../../structure/objects/object-kind.ts'
import type { Query } from '../../structure/query.ts'

/** A session that is in no transaction. */
export interface LockingSession {
  run(statements: readonly string[]): Promise<void>
  readonly query: Query
  readonly signal: AbortSignal
}

/** How long it is waited for those who use the tables, in milliseconds: everybody else waits behind us meanwhile. */
const LOCK_MS = 150

/** For how long that is tried, in milliseconds, and how long the others have between two tries. */
const PATIENCE_MS = 60_000
const PAUSE_MS = { least: 50, most: 400 }

/**
 * How long it is waited for those who use a sequence or a materialized view, which is locked when it is moved, in
 * milliseconds: everything else is locked by then.
 */
const MOVE_LOCK_MS = 30

/** How long the session may wait for us while readers wait for it, in milliseconds. */
const IDLE_MS = 2_000

/**
 * Does something to the stages while all their tables and views are locked, in a transaction that is left open. Where
 * somebody uses what it needs, all is taken back, and tried again a moment later.
 *
 * @throws {AppError} CONFLICT where somebody goes on using it; what `exchange` throws.
 */
export async function whileLocked(
  session: LockingSession,
  schemas: readonly string[],
  exchange: () => Promise<void>,
): Promise<void> {
  const { run, query, signal } = session
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    await run([
      'BEGIN',
      'SET LOCAL search_path = pg_catalog',
      `SET LOCAL lock_timeout = ${LOCK_MS}`,
      `SET LOCAL statement_timeout = ${LOCK_MS}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
    ])
    const failure = (await lock(session, schemas)) ?? (await exchange().catch(lockFailure))
    if (failure === undefined) return
    await run(['ROLLBACK'])
    if (performance.now() > until) {
      const what = 'nothing was changed: somebody goes on using a table of the stage'
      throw await stillLocked(query, { schemaName: schemas[0] ?? '', what, cause: failure.cause })
    }
    await sleep(PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least), undefined, { signal })
  }
}

interface LockFailure {
  readonly cause: unknown
}

function lockFailure(error: unknown): LockFailure {
  if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
  return { cause: error }
}

/** @returns why that has to be tried again; undefined where everything is locked. */
async function lock({ run, query }: LockingSession, schemas: readonly string[]): Promise<LockFailure | undefined> {
  try {
    const relations = await query<{ schema: string; name: string }>(RELATIONS_SQL, [JSON.stringify(schemas)])
    const names = relations.map(({ schema, name }) => quoteQualified(schema, name))
    if (names.length > 0) await run([`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`])
    await run([`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${MOVE_LOCK_MS}`])
    return undefined
  } catch (error) {
    // A relation that is gone since is found out about by the comparison.
    return sqlState(error) === SQLSTATE.queryCanceled ? { cause: error } : lockFailure(error)
  }
}

// Views before what they read, as those who read them lock it. PostgreSQL locks what a view reads, too: those that read
// something else, such as a catalog, are left out. `pg_depend`
// does not know who reads a catalog. Who reads one of these also waits for the tables of the stage.
const RELATIONS_SQL = `
WITH RECURSIVE relation AS (
       SELECT o.oid, o.relname, o.relkind, n.nspname
         FROM pg_catalog.pg_class o JOIN pg_catalog.pg_namespace n ON n.oid = o.relnamespace
        WHERE n.nspname IN (SELECT pg_catalog.json_array_elements_text($1::pg_catalog.json))
          AND o.relkind IN ('r', 'p', 'v') AND ${IS_OWN_SQL}
     ),
     reads AS MATERIALIZED (
       SELECT v.oid AS view, c.oid AS relation
         FROM relation v
         JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.rulename = '_RETURN'
        CROSS JOIN LATERAL pg_catalog.regexp_matches(r.ev_action::text, ':relid ([0-9]+)', 'g') found
         JOIN pg_catalog.pg_class c ON c.oid = found[1]::pg_catalog.oid AND c.oid <> v.oid
        WHERE v.relkind = 'v' AND c.relkind IN ('r', 'p', 'v')
     ),
     elsewhere AS (
       SELECT view FROM reads WHERE relation NOT IN (SELECT oid FROM relation)
       UNION SELECT reads.view FROM elsewhere JOIN reads ON reads.relation = elsewhere.view
     )
SELECT nspname::text AS schema, relname::text AS name
  FROM relation
 WHERE relkind <> 'v' OR oid NOT IN (SELECT view FROM elsewhere)
 ORDER BY relkind = 'v' DESC, CASE WHEN relkind = 'v' THEN -oid::pg_catalog.int8 ELSE oid::pg_catalog.int8 END`
