import { setTimeout as sleep } from 'node:timers/promises'
import { quoteIdentifier, quoteQualified } from '../../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../../database/sqlstate.ts'
import { stillLocked } from '../../../projects/lock-owners.ts'
import { IS_OWN_SQL } from '../../structure/objects/object-kind.ts'
import type { Query } from '../../structure/query.ts'
import { QUICK } from './prepared-query.ts'

/** A session that is in no transaction. */
export interface LockingSession {
  run(statements: readonly string[]): Promise<void>
  readonly query: Query
  readonly signal: AbortSignal
}

/**
 * How long it is waited for those who use the tables, in milliseconds, in one try after the other: everybody else waits behind
 * us meanwhile. Where many read several tables in one transaction, one of them may come to wait for us while we wait for it, and
 * only giving up helps. Tries that are short find a moment without such a one soon; the long ones are for those who read longer.
 */
const LOCK_MS = [20, 20, 20, 20, 20, 120]

/** For how long that is tried, in milliseconds. Between two tries, the others have one to three times as long as a try took. */
const PATIENCE_MS = 60_000

/** How long it is waited for a lock of anything else, such as of a schema, in milliseconds. */
const MOVE_LOCK_MS = 30

/** How long the session may wait for us while readers wait for it, in milliseconds. */
const IDLE_MS = 2_000

/**
 * Does something to the stages while all their tables, views and sequences are locked, in a transaction that is left open.
 * Where somebody uses what it needs, all is taken back, and tried again a moment later.
 *
 * @param options `before`: what is done in the transaction before anybody has to wait for it.
 * @throws {AppError} CONFLICT where somebody goes on using it; what `exchange` throws.
 */
export async function whileLocked(
  session: LockingSession,
  { schemas, before }: { readonly schemas: readonly string[]; readonly before: () => Promise<void> },
  exchange: () => Promise<void>,
): Promise<void> {
  const { run, query, signal } = session
  const until = performance.now() + PATIENCE_MS
  for (let attempt = 0; ; attempt += 1) {
    const lockMs = LOCK_MS[attempt % LOCK_MS.length] ?? 0
    await run([
      'BEGIN',
      'SET LOCAL search_path = pg_catalog',
      ...QUICK,
      `SET LOCAL lock_timeout = ${IDLE_MS}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
    ])
    const failure =
      (await before().catch(lockFailure)) ??
      (await lock(session, schemas, { lockMs, isReversed: attempt % 2 === 1 })) ??
      (await exchange().catch(lockFailure))
    if (failure === undefined) return
    await run(['ROLLBACK'])
    if (performance.now() > until) {
      const what = 'nothing was changed: somebody goes on using a table of the stage'
      throw await stillLocked(query, { schemaName: schemas[0] ?? '', what, cause: failure.cause })
    }
    await sleep(lockMs * (1 + 2 * Math.random()), undefined, { signal })
  }
}

interface LockFailure {
  readonly cause: unknown
}

function lockFailure(error: unknown): LockFailure {
  if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
  return { cause: error }
}

/**
 * @param options `isReversed`: whether the tables are locked in the other order: those who read them in that order do not stop it.
 * @returns why that has to be tried again; undefined where everything is locked.
 */
async function lock(
  { run, query }: LockingSession,
  schemas: readonly string[],
  { lockMs, isReversed }: { readonly lockMs: number; readonly isReversed: boolean },
): Promise<LockFailure | undefined> {
  try {
    const relations = await query<LockedRelation>(RELATIONS_SQL, [JSON.stringify(schemas)])
    const of = (kinds: string): LockedRelation[] => relations.filter(({ kind }) => kinds.includes(kind))
    const tables = isReversed ? of('rp').toReversed() : of('rp')
    const names = [...of('v'), ...tables].map(({ schema, name }) => quoteQualified(schema, name))
    await run([
      `SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${lockMs}`,
      ...(names.length > 0 ? [`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`] : []),
      `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${MOVE_LOCK_MS}`,
      ...of('mS').map(lockByOwner),
    ])
    return undefined
  } catch (error) {
    // A relation that is gone since is found out about by the comparison.
    return sqlState(error) === SQLSTATE.queryCanceled ? { cause: error } : lockFailure(error)
  }
}

interface LockedRelation {
  readonly schema: string
  readonly name: string
  /** As `relkind` has it. */
  readonly kind: string
  readonly owner: string
}

/** LOCK takes no sequences and materialized views: to give them to whom they belong changes nothing, and locks them. */
const lockByOwner = ({ schema, name, owner }: LockedRelation): string =>
  `ALTER TABLE ${quoteQualified(schema, name)} OWNER TO ${quoteIdentifier(owner)}`

// Views before what they read, as those who read them lock it. PostgreSQL locks what a view reads, too: those that read
// something else, such as a catalog, are left out. `pg_depend`
// does not know who reads a catalog. Who reads one of these also waits for the tables of the stage.
const RELATIONS_SQL = `
WITH RECURSIVE relation AS (
       SELECT o.oid, o.relname, o.relkind, o.relowner, n.nspname
         FROM pg_catalog.pg_class o JOIN pg_catalog.pg_namespace n ON n.oid = o.relnamespace
        WHERE n.nspname IN (SELECT pg_catalog.json_array_elements_text($1::pg_catalog.json))
          AND o.relkind IN ('r', 'p', 'v', 'm', 'S') AND ${IS_OWN_SQL}
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
SELECT nspname::text AS schema, relname::text AS name, relkind::text AS kind, pg_catalog.pg_get_userbyid(relowner)::text AS owner
  FROM relation
 WHERE relkind <> 'v' OR oid NOT IN (SELECT view FROM elsewhere)
 ORDER BY CASE WHEN relkind = 'v' THEN -oid::pg_catalog.int8 ELSE oid::pg_catalog.int8 END`
