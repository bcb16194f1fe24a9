import type pg from 'pg'
import { askTogether } from '../../database/ask-together.ts'
import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import type { ReusedMemory } from '../../lib/reused-memory.ts'
import { type Portal, type RangePage, readPortal } from '../../rows/portal.ts'
import type { Query } from '../structure/query.ts'

/** A session that reads in one transaction: of one snapshot, and nothing else. */
export interface ReadingSession {
  readonly query: Query
  /** Runs statements without parameters; a text may hold several. */
  execute(statements: string): Promise<void>
  /** Reads a cursor to its end; nothing else can be asked meanwhile. */
  rows(portal: Portal, memory: ReusedMemory): AsyncGenerator<RangePage, void, undefined>
  /**
   * Ends the transaction, and gives the session back, or ends it where a cursor was not read to its end. It never fails: a session that
   * is lost by then has given all that was asked of it.
   */
  end(): Promise<void>
  /** Ends the session with whatever runs in it. Only the first `end` or `close` does anything. */
  close(error: Error): void
}

/** How long an export waits for a table that somebody else has locked, e.g. to alter it. */
const LOCK_TIMEOUT = '30s'

/** What such a session has other than every session (`session-settings.ts`). */
const SETTINGS = {
  lock_timeout: LOCK_TIMEOUT,
  // A scan that begins in the middle of a table would give its rows in another order each time.
  synchronize_seqscans: 'off',
  jit: 'off',
  // Without it, each range would be looked for in all of its table; and any login may turn it off for itself.
  enable_tidscan: 'on',
  // To start other processes for a question to the catalogs takes longer than to answer it (`structure/query.ts`).
  max_parallel_workers_per_gather: '0',
  // Rows that a policy would hide are refused aloud instead of being left out.
  row_security: 'off',
}

/**
 * Takes a session of a pool, and opens the transaction; its snapshot is not taken yet.
 *
 * @param sessionName what PostgreSQL calls it until then (`application_name`).
 */
export async function openReadingSession(pool: pg.Pool, sessionName: string): Promise<ReadingSession> {
  const client = await pool.connect()
  let isOpen = true
  let isReading = false
  const close = (error?: Error): void => {
    if (!isOpen) return
    isOpen = false
    client.release(error)
  }
  try {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settingsSql(sessionName)}`)
  } catch (error) {
    close(new Error('the transaction did not begin', { cause: error }))
    throw error
  }
  return {
    query: askTogether(client),
    async execute(statements) {
      await client.query(statements)
    },
    async *rows(portal, memory) {
      isReading = true
      yield* readPortal(client, portal, memory)
      isReading = false
    },
    async end() {
      if (!isOpen) return
      if (isReading) return close(new Error('not all rows were read'))
      await client.query('COMMIT').then(() => close(), close)
    },
    close,
  }
}

/** SET LOCAL, unlike `set_config`, is no query, and so leaves the snapshot to be taken later. */
const settingsSql = (sessionName: string): string =>
  Object.entries({ ...SETTINGS, application_name: sessionName })
    .map(([name, value]) => `SET LOCAL ${quoteIdentifier(name)} = ${quoteLiteral(value)}`)
    .join('; ')
