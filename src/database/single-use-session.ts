import type pg from 'pg'

/** A session for one piece of work; it is ended afterwards, since SQL of others may have left settings behind. */
export interface SingleUseSession {
  readonly client: pg.PoolClient
  /** The process of the server that serves it. */
  readonly pid: number
  /** Ends it; does nothing the second time. */
  close(error?: Error): void
}

/**
 * Opens a session that the signal ends, with the statement that runs in it: the server is told so, since it does not
 * notice a closed connection before that statement has ended.
 */
export async function openSingleUseSession(pool: pg.Pool, signal: AbortSignal): Promise<SingleUseSession> {
  signal.throwIfAborted()
  const client = await pool.connect()
  let isOpen = true
  let pid = 0
  const close = (error?: Error): void => {
    if (!isOpen) return
    isOpen = false
    signal.removeEventListener('abort', abort)
    client.release(error ?? true)
  }
  const abort = (): void => {
    close(new Error('the session was cancelled'))
    void Promise.allSettled([pool.query('SELECT pg_catalog.pg_terminate_backend($1)', [pid])])
  }
  // A session that is ended from outside also says so here, where unheard it would end the process.
  client.on('error', close)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_catalog.pg_backend_pid() AS pid')
    pid = rows[0]?.pid ?? 0
    signal.throwIfAborted()
  } catch (error) {
    close()
    throw error
  }
  return { client, pid, close }
}
