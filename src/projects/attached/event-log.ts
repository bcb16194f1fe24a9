import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../database/database.ts'
import { quoteLiteral } from '../../database/quoting.ts'
import { resetSession } from '../../database/session-client.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { installStatements } from '../../events/attached/install-log.ts'
import { LOG_SCHEMA } from '../../events/attached/log-names.ts'
import {
  type LogQuery,
  missingTriggers,
  presentTriggers,
  type TableStatements,
} from '../../events/attached/log-triggers.ts'
import { stillLocked } from '../lock-owners.ts'
import { dropSchema } from '../project-objects.ts'

/** A stage by the schema that it is, in a database that is not Wharf's. */
export interface LoggedStage {
  readonly id: string
  readonly schemaName: string
}

/** How long it is waited for those who use a table, in milliseconds: others wait behind us meanwhile. */
const LOCK_MS = 150

/** For how long that is tried, and the pause between two tries, in milliseconds. */
const PATIENCE_MS = 15_000
const PAUSE_MS = 200

/** Asks as the login of the database. */
export const logQuery =
  ({ pool }: Pick<Database, 'pool'>): LogQuery =>
  async (sql, parameters) =>
    (await pool.query(sql, [...parameters])).rows

/** Whether the log's schema is there. */
async function isInstalled(query: LogQuery): Promise<boolean> {
  const found = await query(`SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '${LOG_SCHEMA}'`, [])
  return found.length > 0
}

/**
 * Makes the log of a stage: its tables and functions, and the triggers on each table of the stage.
 *
 * @throws {AppError} CONFLICT where somebody goes on using a table. What is there then is made use of by the next call.
 */
export async function makeLog(database: Database, { id, schemaName }: LoggedStage): Promise<void> {
  await inTransaction(database, async (query) => {
    // Two that begin at once would both make it.
    await query(`SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('${LOG_SCHEMA}'))`, [])
    for (const statement of installStatements(await isInstalled(query))) await query(statement, [])
    const stage = `${quoteLiteral(id)}::pg_catalog.uuid`
    const made = await query(
      `INSERT INTO ${LOG_SCHEMA}.stage_state (stage_id, schema_name) VALUES (${stage}, $1) ON CONFLICT (stage_id) DO NOTHING RETURNING stage_id`,
      [schemaName],
    )
    if (made.length === 0) return
    await query(`INSERT INTO ${LOG_SCHEMA}.crash_check VALUES (${stage}) ON CONFLICT DO NOTHING`, [])
    await query(`SELECT ${LOG_SCHEMA}.add_event(${stage}, 'structure', NULL, NULL, NULL, NULL)`, [])
  })
  await makeTriggers(database, schemaName)
}

/** Gives the tables of a stage the triggers that they lack. @throws {AppError} CONFLICT as `makeLog`. */
export async function makeTriggers(
  database: Database,
  schemaName: string,
  patienceMs: number = PATIENCE_MS,
): Promise<void> {
  await forEachTable(database, await missingTriggers(logQuery(database), schemaName), { schemaName, patienceMs })
}

/**
 * Removes the log of a stage, and with the last one all of it.
 *
 * @param schemas that have triggers: the stage's own, and those beside it.
 * @throws {AppError} CONFLICT as `makeLog`.
 */
export async function removeLog(database: Database, id: string, schemas: readonly string[]): Promise<void> {
  const query = logQuery(database)
  if (!(await isInstalled(query))) return
  const stage = `stage_id = ${quoteLiteral(id)}::pg_catalog.uuid`
  // From here on nobody takes the log for one.
  await query(`DELETE FROM ${LOG_SCHEMA}.stage_state WHERE ${stage}`, [])
  for (const schemaName of schemas) {
    await forEachTable(database, await presentTriggers(query, schemaName), { schemaName, patienceMs: PATIENCE_MS })
  }
  const others = await query(`SELECT 1 FROM ${LOG_SCHEMA}.stage_state LIMIT 1`, [])
  if (others.length === 0) {
    await patiently(database, { schemaName: LOG_SCHEMA, patienceMs: PATIENCE_MS }, [dropSchema(LOG_SCHEMA)])
    return
  }
  for (const table of ['recent', 'transaction', 'event', 'crash_check', 'open_transaction']) {
    await query(`DELETE FROM ${LOG_SCHEMA}.${table} WHERE ${stage}`, [])
  }
}

interface Patience {
  readonly schemaName: string
  readonly patienceMs: number
}

/** One table at a time, so that nobody who writes to several waits for more than one of them. */
async function forEachTable(database: Database, tables: readonly TableStatements[], patience: Patience): Promise<void> {
  for (const { statements } of tables) await patiently(database, patience, statements)
}

async function patiently(
  database: Database,
  { schemaName, patienceMs }: Patience,
  statements: readonly string[],
): Promise<void> {
  for (const until = performance.now() + patienceMs; ; await sleep(PAUSE_MS)) {
    try {
      await inTransaction(database, async (query) => {
        await query(`SET LOCAL lock_timeout = ${LOCK_MS}`, [])
        for (const statement of statements) await query(statement, [])
      })
      return
    } catch (error) {
      if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
      if (performance.now() < until) continue
      const what = 'a table that the log needs is in use'
      throw await stillLocked((sql, parameters) => logQuery(database)(sql, parameters), {
        schemaName,
        what,
        cause: error,
      })
    }
  }
}

/** The login's own settings may say that it only reads. */
async function inTransaction(database: Database, use: (query: LogQuery) => Promise<void>): Promise<void> {
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN READ WRITE')
    await use(async (sql, parameters) => (await client.query(sql, [...parameters])).rows)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  } finally {
    const reset = await resetSession(client).then(
      () => false,
      () => true,
    )
    client.release(reset)
  }
}
