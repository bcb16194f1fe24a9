import pg from 'pg'
import type { Database } from '../database/database.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import { AppError, type Fault } from '../errors.ts'
import type { StageDatabase } from './stage-database.ts'

/**
 * Runs SQL of a user's own in a stage, whole or not at all, in a session of the project's own login, and records it.
 *
 * The session is a connection of its own that ends with it: a script may leave settings behind that must not
 * reach the next user of a pooled connection.
 *
 * @param script any number of statements; names without a schema are in the stage.
 * @param tokenId who asks for it; null for the root token.
 * @param signal ends the session; nothing of the script remains.
 * @returns the id of the record.
 * @throws {AppError} SQL_REJECTED with PostgreSQL's own words, and the line where PostgreSQL says which. The reason of
 *   the signal where that was aborted.
 */
export async function applySchema(
  { database, stageId, schemaName }: StageDatabase,
  { script, tokenId }: { readonly script: string; readonly tokenId: string | null },
  signal: AbortSignal,
): Promise<string> {
  try {
    return await withSession(database, signal, async (client) => {
      await client.query('BEGIN')
      // Whatever the login's own settings say, which its SQL may have changed.
      await client.query('SET TRANSACTION READ WRITE')
      await client.query('SET LOCAL statement_timeout = 0')
      await client.query(`SET LOCAL search_path = ${quoteIdentifier(schemaName)}`)
      await client.query('SELECT wharf.execute_script($1)', [script])
      const { rows } = await client.query<{ id: string }>('SELECT wharf.record_structure_change($1, $2, $3) AS id', [
        stageId,
        script,
        tokenId,
      ])
      await assertSchemaIsThere(client, schemaName)
      // Tables that the script made, and those whose triggers it dropped or disabled.
      // A table with checks that are put off cannot have a trigger replaced.
      await client.query('SET CONSTRAINTS ALL IMMEDIATE')
      await client.query('SELECT wharf.log_tables($1)', [schemaName])
      signal.throwIfAborted()
      await client.query('COMMIT')
      return rows[0]?.id ?? ''
    })
  } catch (error) {
    throw signal.aborted ? signal.reason : sqlRejected(error, script)
  }
}

/** A stage without its schema could not be imported into, exported or changed any more. */
async function assertSchemaIsThere(client: pg.PoolClient, schemaName: string): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    'SELECT pg_catalog.to_regnamespace(pg_catalog.quote_ident($1)) IS NOT NULL AS there',
    [schemaName],
  )
  if (rows[0]?.there) return
  const detail = "the script drops or renames the stage's own schema"
  throw new AppError('SQL_REJECTED', `nothing was changed: ${detail}`, { faults: [{ detail }] })
}

/**
 * Lends a session that ends with `use`, or when `signal` is aborted: the server is told to end it then, since it does
 * not notice a closed connection before the statement that runs has ended.
 */
async function withSession<T>(
  { pool }: Database,
  signal: AbortSignal,
  use: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  // The query that runs learns of a broken connection by itself; unheard, the event would end the process.
  client.on('error', () => undefined)
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const end = (): void => {
      void Promise.allSettled([pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])])
    }
    signal.addEventListener('abort', end, { once: true })
    try {
      signal.throwIfAborted()
      return await use(client)
    } finally {
      signal.removeEventListener('abort', end)
    }
  } finally {
    client.release(true)
  }
}

/** PostgreSQL's complaint about a user's script; what is not a complaint of PostgreSQL's stays as it is. */
function sqlRejected(error: unknown, script: string): unknown {
  if (!(error instanceof pg.DatabaseError) || isServerTrouble(error)) return error
  const line = faultyLine(error, script)
  const message = isTransactionCommand(error)
    ? 'the script begins or ends a transaction, but it runs in one of its own: leave BEGIN, COMMIT and ROLLBACK out'
    : error.message
  const detail = [message, error.detail, error.hint].filter(Boolean).join('; ')
  const fault: Fault = line === undefined ? { detail } : { line, detail }
  const place = line === undefined ? '' : `line ${line}: `
  return new AppError('SQL_REJECTED', `nothing was changed: ${place}${message}`, { faults: [fault], cause: error })
}

/**
 * SQLSTATE classes that say that the server, not the script, is at fault: connection or login, resources, shutdown,
 * internal.
 */
const isServerTrouble = (error: pg.DatabaseError): boolean => /^(08|28|53|57P|58|XX)/.test(error.code ?? '')

/** How PL/pgSQL refuses BEGIN, COMMIT and ROLLBACK: in the script itself, and in what it calls. */
const isTransactionCommand = (error: pg.DatabaseError): boolean =>
  (error.code === '0A000' && error.message.includes('transaction commands')) || error.code === '2D000'

/**
 * The 1-based line of the script at which it failed, where PostgreSQL says so: it does for all that it cannot parse.
 */
function faultyLine(error: pg.DatabaseError, script: string): number | undefined {
  if (!error.internalPosition || error.internalQuery !== script) return undefined
  // PostgreSQL counts characters, JavaScript UTF-16 units.
  const charactersBefore = Number(error.internalPosition) - 1
  let line = 1
  let seen = 0
  for (const character of script) {
    if (seen++ === charactersBefore) break
    if (character === '\n') line += 1
  }
  return line
}
