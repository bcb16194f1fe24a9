import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const START_LIMIT_MS = 60_000
const CONNECT_LIMIT_MS = 10_000

/** Runs one statement in a session of its own. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  return withSession(url, async (client) => (await client.query<Row>(sql, [...parameters])).rows)
}

/** Opens a session, which the server may end at any moment: its next query fails then. */
export async function openSession(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_LIMIT_MS })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** Lets such a session be used, and closes it. */
export async function withSession<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openSession(url)
  try {
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
