import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const START_LIMIT_MS = 60_000

/** Runs one statement in a session of its own. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  return withSession(url, async (client) => (await client.query<Row>(sql, [...parameters])).rows)
}

/** Lets a session be used, which may be ended at any moment, and closes it. */
export async function withSession<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Waits until a server that was started answers. @param begin starts it where it is not there, before each look. */
export async function untilReady(url: string, begin: () => Promise<void>): Promise<void> {
  const until = Date.now() + START_LIMIT_MS
  for (;;) {
    await begin()
    try {
      await query(url, 'SELECT 1')
      return
    } catch (error) {
      if (Date.now() > until) throw new Error('PostgreSQL did not start', { cause: error })
      await sleep(50)
    }
  }
}
