import pg from 'pg'

export interface SessionDeadline {
  /** Whether the session was ended, since its time was over. */
  readonly isOver: () => boolean
  /** To be called when the session is given back. */
  stop(): void
}

/**
 * Ends a session that is in use for too long, whatever its statement does. PostgreSQL's `statement_timeout` cancels a
 * statement once; a function that catches `query_canceled` goes on for ever, and its client would wait as long.
 *
 * It is ended by a connection of its own, since those of the pool may all be in such use.
 *
 * @param limitMs how long it may be in use.
 */
export function endAtDeadline(pool: pg.Pool, client: pg.PoolClient, limitMs: number): SessionDeadline {
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    // Where the server lets nobody in, the client waits no longer, at least.
    void terminate(pool, processOf(client)).catch(() => Promise.allSettled([endOf(client)]))
  }, limitMs)
  timer.unref()
  return { isOver: () => isOver, stop: () => clearTimeout(timer) }
}

async function terminate(pool: pg.Pool, pid: number | undefined): Promise<void> {
  const client = new pg.Client(pool.options)
  // Unheard, it would end the process; the query below fails as well then.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT pg_catalog.pg_terminate_backend($1)', [pid])
  } finally {
    void Promise.allSettled([client.end()])
  }
}

/** `pg` keeps it, and does not declare it. */
const processOf = (client: pg.PoolClient): number | undefined =>
  'processID' in client && typeof client.processID === 'number' ? client.processID : undefined

const endOf = (client: pg.PoolClient): Promise<void> => (client instanceof pg.Client ? client.end() : Promise.resolve())
