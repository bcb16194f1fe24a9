import type pg from 'pg'
import { nameSession } from '../../database/session-name.ts'

export interface SessionOptions {
  /** Ends the session, together with the statement that runs in it. */
  readonly signal: AbortSignal
  /** What PostgreSQL calls it (`application_name`), so that others can find and end it. */
  readonly sessionName?: string | undefined
}

/** A connection that is used once. */
export interface LoadingSession {
  readonly client: pg.PoolClient
  /** Ends it, and whatever it has not committed. Can be called again. */
  close(error?: Error): void
}

/**
 * Opens a session that is ended, not given back to the pool: SQL of a file may have left settings behind.
 *
 * Ended by the signal, PostgreSQL is told so, since it does not notice a closed connection before the statement that
 * runs in it has ended.
 */
export async function openLoadingSession(
  pool: pg.Pool,
  { signal, sessionName }: SessionOptions,
): Promise<LoadingSession> {
  signal.throwIfAborted()
  const client = await pool.connect()
  let open = true
  const close = (error?: Error): void => {
    if (!open) return
    open = false
    signal.removeEventListener('abort', abort)
    client.release(error ?? true)
  }
  let pid: number | undefined
  const abort = (): void => {
    close(new Error('the import was cancelled'))
    void Promise.allSettled([pool.query('SELECT pg_catalog.pg_terminate_backend($1)', [pid])])
  }
  // A session that is ended from outside also says so here, where unheard it would end the process.
  client.on('error', close)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_catalog.pg_backend_pid() AS pid')
    pid = rows[0]?.pid
    if (sessionName !== undefined) await nameSession(client, sessionName)
    signal.throwIfAborted()
    return { client, close }
  } catch (error) {
    close(new Error('the import did not begin', { cause: error }))
    throw error
  }
}
