import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Database, Queryable } from '../database/database.ts'
import { openSingleUseSession } from '../database/single-use-session.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import type { AppError } from '../errors.ts'
import { LOG_TABLES, RECORD_STRUCTURE_CHANGE } from '../events/statements.ts'
import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import { ensureExtension } from './extensions.ts'
import { stillLocked } from './lock-owners.ts'
import { recordScript } from './script/record-script.ts'
import { type FailureSite, runScript, type ScriptOptions, type ScriptResult } from './script/run-script.ts'
import { rejected, sqlRejected } from './sql-rejected.ts'
import type { StageDatabase } from './stage-database.ts'
import { searchStage } from './stage-path.ts'
import { type Blockers, watchWaits } from './watch-waits.ts'

/**
 * How long a statement of a script waits for a lock at most, in milliseconds: all who want to read the table after that
 * wait behind it meanwhile. Shorter than `deadlock_timeout`, so that it is never another who fails.
 */
const LOCK_TIMEOUT_MS = 500

/** How much longer a wait can take where the script has set `lock_timeout` for itself, in milliseconds. */
const GRACE_MS = 500

/**
 * How often a wait may be longer than `deadlock_timeout`, after which PostgreSQL ends an autovacuum that is in the way:
 * a script can meet one at each of its tables, and one against wraparound is not ended.
 */
const MAX_LONG_ATTEMPTS = 3

/** How much longer than `deadlock_timeout` such a wait is, in milliseconds. */
const AUTOVACUUM_ENDS_MS = 500

/** How long they can go on then, in milliseconds, before it is tried again. */
const PAUSE_MS = 1_000

/** How long it is tried, in milliseconds, where nobody says otherwise. */
const DEFAULT_WAIT_MS = 60_000

export interface SchemaChange extends ScriptOptions {
  /** Reads the script, from its beginning each time: any number of statements; names without a schema are in the stage. */
  readonly read: (signal: AbortSignal) => AsyncIterable<BorrowedBytes>
  /** The token that asks for it; null for the root token. */
  readonly tokenId: string | null
  /** The extensions that it may make; undefined for those that PostgreSQL trusts. */
  readonly extensions?: readonly string[] | undefined
  /** For how long, in milliseconds, it is tried to get the locks that the script needs. */
  readonly waitMs?: number
  /**
   * Called when the script has run, to commit it: what it makes sure of before `commit` is so until that has ended.
   * Where it throws before, nothing has changed. What is to be written down beside is written in the transaction that it
   * gives.
   */
  readonly committing?: (commit: (tx: Queryable) => Promise<void>) => Promise<void>
}

export interface AppliedChange extends ScriptResult {
  /** Of the record. */
  readonly id: string
}

/**
 * Runs SQL of a user's own in a stage, whole or not at all, in a session of the project's own login, and records it.
 *
 * Where a lock is not to be had at once, all of it is undone and run again, so that nobody waits behind it for long. What
 * a script does outside its transaction (it draws a number of a sequence, say) it may so do several times.
 *
 * The session is a connection of its own that ends with it: a script may leave settings behind that must not
 * reach the next user of a pooled connection.
 *
 * @param system as Wharf's own login: ends the session where it waits for longer than it may.
 * @param signal ends the session; nothing of the script remains.
 * @throws {AppError} SQL_REJECTED with PostgreSQL's own words and the line; CONFLICT where others hold the tables for too
 *   long. The reason of the signal where that was aborted.
 */
export async function applySchema(
  system: Database,
  stage: StageDatabase,
  { waitMs = DEFAULT_WAIT_MS, ...change }: SchemaChange,
  signal: AbortSignal,
): Promise<AppliedChange> {
  const site: FailureSite = {}
  const sinceMs = performance.now()
  let longAttempts = 0
  let lockTimeoutMs = LOCK_TIMEOUT_MS
  try {
    for (;;) {
      const attempt = await tryToApply({ system, stage, change, lockTimeoutMs, site }, signal)
      if (attempt.applied) return attempt.applied
      const sendsAway = attempt.blockers === 'autovacuum' && longAttempts < MAX_LONG_ATTEMPTS
      if (sendsAway) longAttempts += 1
      lockTimeoutMs = sendsAway ? (await readDeadlockTimeout(system)) + AUTOVACUUM_ENDS_MS : LOCK_TIMEOUT_MS
      if (performance.now() - sinceMs + PAUSE_MS > waitMs) throw await heldByOthers(stage, attempt.error)
      await delay(PAUSE_MS, undefined, { signal })
    }
  } catch (error) {
    throw signal.aborted
      ? signal.reason
      : await sqlRejected(error, { ...site, stageSchema: stage.schemaName }, stage.database.pool)
  }
}

const heldByOthers = ({ database, schemaName }: StageDatabase, cause: unknown): Promise<AppError> =>
  stillLocked(async (sql, parameters) => (await database.pool.query(sql, [...parameters])).rows, {
    schemaName,
    what: 'nothing was changed',
    cause,
  })

async function readDeadlockTimeout({ prisma }: Database): Promise<number> {
  const [row] = await prisma.$queryRaw<{ ms: number }[]>`
    SELECT setting::int AS ms FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout'`
  return row?.ms ?? 1_000
}

/** What was done, or what it said of a lock that was not to be had. */
type Attempt =
  | { readonly applied: AppliedChange }
  | { readonly applied?: undefined; readonly error: unknown; readonly blockers: Blockers | undefined }

interface Try {
  readonly system: Database
  readonly stage: StageDatabase
  readonly change: SchemaChange
  /** How long each wait for a lock may take, in milliseconds. */
  readonly lockTimeoutMs: number
  /** Learns where the script failed. */
  readonly site: FailureSite
}

/** @throws PostgreSQL's own error, but for a lock that was not to be had. */
async function tryToApply(attempt: Try, signal: AbortSignal): Promise<Attempt> {
  const { system, stage, lockTimeoutMs } = attempt
  const { client, pid, close } = await openSingleUseSession(stage.database.pool, signal)
  const waits = watchWaits(system, pid, lockTimeoutMs + GRACE_MS)
  try {
    return { applied: await applyIn(client, attempt, signal) }
  } catch (error) {
    await waits.stop()
    if (!waits.hasEndedIt() && sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    return { error, blockers: waits.lastBlockers() }
  } finally {
    await waits.stop()
    close()
  }
}

/** Runs it in one transaction. */
async function applyIn(
  client: pg.PoolClient,
  { system, stage: { database, isOwn, stageId, schemaName }, change, lockTimeoutMs, site }: Try,
  signal: AbortSignal,
): Promise<AppliedChange> {
  const { tokenId, committing = (commit) => commit(system.prisma) } = change
  const record = recordScript()
  const shortWaits = `SET LOCAL lock_timeout = ${lockTimeoutMs}`
  await client.query('BEGIN')
  // Whatever the login's own settings say, which its SQL may have changed.
  await client.query('SET TRANSACTION READ WRITE')
  await client.query('SET LOCAL statement_timeout = 0')
  await client.query(searchStage(schemaName))
  await client.query(shortWaits)
  const options = {
    ...change,
    stageSchema: schemaName,
    onRead: record.add,
    // In a database of its own, the project's login makes it.
    ensureExtension: (name: string) => ensureExtension(isOwn ? system : database, name, change.extensions),
  }
  const result = await runScript(client, change.read(signal), options, site)
  // The script may have set it for itself.
  await client.query(shortWaits)
  const recorded = [stageId, record.text(), tokenId] as const
  const { rows } = isOwn ? await client.query<{ id: string }>(RECORD_STRUCTURE_CHANGE, [...recorded]) : { rows: [] }
  let id = rows[0]?.id ?? ''
  await assertSchemaIsThere(client, schemaName)
  // Tables that the script made, and those whose triggers it dropped or disabled.
  // A table with checks that are put off cannot have a trigger replaced.
  await client.query('SET CONSTRAINTS ALL IMMEDIATE')
  if (isOwn) await client.query(LOG_TABLES, [schemaName])
  await client.query(SHORT_COMMIT)
  await committing(async (tx) => {
    signal.throwIfAborted()
    // Wharf's records are in another database: a process that dies between the two commits leaves a change without one.
    if (!isOwn) id = await recordBeside(tx, recorded)
    await client.query('COMMIT')
  })
  return { id, ...result }
}

async function recordBeside(
  tx: Queryable,
  recorded: readonly [stageId: string, script: string, tokenId: string | null],
): Promise<string> {
  const rows = await tx.$queryRawUnsafe<{ id: string }[]>(RECORD_STRUCTURE_CHANGE, ...recorded)
  return rows[0]?.id ?? ''
}

/** A script's own triggers can run as late as in COMMIT, for which somebody may be waiting. */
const SHORT_COMMIT = `SET LOCAL statement_timeout = '10s'`

/** A stage without its schema could not be imported into, exported or changed any more. */
async function assertSchemaIsThere(client: pg.PoolClient, schemaName: string): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    'SELECT pg_catalog.to_regnamespace(pg_catalog.quote_ident($1)) IS NOT NULL AS there',
    [schemaName],
  )
  if (!rows[0]?.there) throw rejected("the script drops or renames the stage's own schema")
}
