import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PrismaClient } from '../../src/database/generated/client.ts'
import { createPool } from '../../src/database/pool.ts'
import { databaseFailure } from '../../src/database/sqlstate-meanings.ts'
import { AppError } from '../../src/errors.ts'
import { createLogger } from '../../src/logger.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { startFailingRelay } from '../support/faults/failing-relay.ts'
import { readPostgresCalls } from '../support/faults/postgres-calls.ts'
import { withSession } from '../support/servers/sessions.ts'

const isUnavailable = (error: unknown): boolean => databaseFailure(error)?.code === 'DATABASE_UNAVAILABLE'

let database: TestDatabase

beforeAll(async () => {
  database = await createMigratedDatabase()
})

afterAll(() => database.drop())

interface Tools {
  readonly prisma: PrismaClient
  readonly pool: pg.Pool
}

/** Runs `use` on a pool of one connection, and gives what it threw. */
async function thrownBy(url: string, use: (tools: Tools) => Promise<unknown>): Promise<unknown> {
  const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 500 })
  pool.on('error', () => undefined)
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  try {
    return await use({ prisma, pool }).then(
      () => undefined,
      (error: unknown) => error,
    )
  } finally {
    await prisma.$disconnect()
    await pool.end()
  }
}

const terminate = (pid: unknown) => database.query('SELECT pg_terminate_backend($1)', [pid])

test('a connection that the server ends while its pool is being closed is nothing to warn of', async () => {
  const lines: string[] = []
  const logger = createLogger('warn', { write: (line: string) => lines.push(line) })
  const pool = createPool(database.url, { maxConnections: 1, session: 'wharf' }, logger)
  const client = await pool.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  client.release()
  const { stream } = client.connection
  stream.pause()
  await terminate(rows[0].pid)
  const closed = once(stream, 'close')
  await pool.end()
  stream.resume()
  await closed
  expect(lines).toEqual([])
})

const closedPort = (): string => {
  const url = new URL(database.url)
  url.port = '1'
  return url.href
}

/** Breaks the connection at the first or the last statement of a transaction of one query. */
async function thrownWhereLost(statement: 'BEGIN' | 'COMMIT'): Promise<unknown> {
  const relay = await startFailingRelay(database.url, () => readPostgresCalls(() => true))
  try {
    return await thrownBy(relay.url, async ({ prisma }) => {
      await prisma.$queryRaw`SELECT 1`
      if (statement === 'BEGIN') relay.arm({ nth: 1, lost: 'call' })
      await prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1`
        if (statement === 'COMMIT') relay.arm({ nth: 1, lost: 'call' })
      })
    })
  } finally {
    await relay.close()
  }
}

const LOST_CONNECTIONS: readonly [what: string, thrown: () => Promise<unknown>][] = [
  [
    "a port that nobody listens on, by Prisma's models",
    () => thrownBy(closedPort(), ({ prisma }) => prisma.project.count()),
  ],
  [
    "a port that nobody listens on, by Prisma's SQL",
    () => thrownBy(closedPort(), ({ prisma }) => prisma.$queryRaw`SELECT 1`),
  ],
  [
    'a port that nobody listens on, by a transaction',
    () => thrownBy(closedPort(), ({ prisma }) => prisma.$transaction((tx) => tx.project.count())),
  ],
  ['a port that nobody listens on, by pg', () => thrownBy(closedPort(), ({ pool }) => pool.query('SELECT 1'))],
  [
    'a session that was ended while it ran a query',
    () =>
      thrownBy(database.url, ({ prisma }) =>
        prisma.$transaction(async (tx) => {
          const [row] = await tx.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
          await Promise.all([tx.$queryRaw`SELECT pg_sleep(10)::text`, delay(100).then(() => terminate(row?.pid))])
        }),
      ),
  ],
  [
    'a session that was ended between two queries',
    () =>
      thrownBy(database.url, ({ prisma }) =>
        prisma.$transaction(async (tx) => {
          const [row] = await tx.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
          await terminate(row?.pid)
          await delay(100)
          await tx.project.count()
        }),
      ),
  ],
  ['a session that broke as its transaction was begun', () => thrownWhereLost('BEGIN')],
  ['a session that broke as its transaction was committed', () => thrownWhereLost('COMMIT')],
  [
    "a session that was ended, by pg's pool",
    () => thrownBy(database.url, ({ pool }) => pool.query('SELECT pg_terminate_backend(pg_backend_pid())')),
  ],
  [
    'a server that does not answer any more',
    () =>
      thrownBy(database.url, async ({ pool }) => {
        const timed: pg.QueryConfig & { query_timeout: number } = { text: 'SELECT pg_sleep(1)', query_timeout: 100 }
        await pool.query(timed)
      }),
  ],
  [
    'a pool without a free connection',
    () =>
      thrownBy(database.url, ({ prisma }) =>
        Promise.all([prisma.$queryRaw`SELECT pg_sleep(1)::text`, prisma.$queryRaw`SELECT pg_sleep(1)::text`]),
      ),
  ],
  [
    'a pool without a free connection for a transaction',
    () =>
      thrownBy(database.url, ({ prisma }) => {
        const wait = () => prisma.$transaction((tx) => tx.$queryRaw`SELECT pg_sleep(1)::text`, { maxWait: 300 })
        return Promise.all([wait(), wait()])
      }),
  ],
]

test.for(LOST_CONNECTIONS)('%s is trouble with the connection', async ([, thrown]) => {
  const error = await thrown()
  expect(error).toBeInstanceOf(Error)
  expect(isUnavailable(error), String(error)).toBe(true)
})

test('a database that takes no more connections is trouble with the connection', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const limit = (sessions: number) =>
    withSession(database.superuserUrl, (session) =>
      session.query(`ALTER DATABASE ${name} CONNECTION LIMIT ${sessions}`),
    )
  await limit(0)
  try {
    for (const use of [({ prisma }: Tools) => prisma.project.count(), ({ pool }: Tools) => pool.query('SELECT 1')]) {
      expect(isUnavailable(await thrownBy(database.url, use))).toBe(true)
    }
  } finally {
    await limit(-1)
  }
})

const OTHERS: readonly [what: string, thrown: () => Promise<unknown>][] = [
  ['a mistake in SQL, by Prisma', () => thrownBy(database.url, ({ prisma }) => prisma.$queryRawUnsafe('SELEC 1'))],
  ['a mistake in SQL, by pg', () => thrownBy(database.url, ({ pool }) => pool.query('SELEC 1'))],
  [
    'a row that is not there',
    () => thrownBy(database.url, ({ prisma }) => prisma.project.findUniqueOrThrow({ where: { slug: 'nothing' } })),
  ],
  [
    'a statement that took too long',
    () => thrownBy(database.url, ({ pool }) => pool.query(`SET statement_timeout = 1; SELECT pg_sleep(1)`)),
  ],
  ['a file that is missing', () => readFile('/nothing/at/all').catch((error: unknown) => error)],
  ['a failure that we expected', async () => new AppError('CONFLICT', 'a table stayed locked')],
  ['a bug', async () => new TypeError('cannot read properties of undefined')],
  ['what is no error', async () => ({ code: 'ECONNREFUSED' })],
]

test.for(OTHERS)('%s is not', async ([, thrown]) => {
  expect(isUnavailable(await thrown())).toBe(false)
})
