import { PrismaPg } from '@prisma/adapter-pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { OpenDatabase } from '../../src/database/database.ts'
import { PrismaClient } from '../../src/database/generated/client.ts'
import { createLoginDatabases, type LoginDatabases } from '../../src/database/login-databases.ts'
import { createPool } from '../../src/database/pool.ts'
import { createLogger } from '../../src/logger.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'

const HOUR_MS = 3_600_000

let database: TestDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
})
afterAll(() => database?.drop())

const open: OpenDatabase = (url, options) => {
  const pool = createPool(url, options, createLogger('silent'))
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  return { prisma, pool, rest: () => prisma.$disconnect(), close: async () => pool.end() }
}

const restorePassword = (): Promise<void> => Promise.reject(new Error('no password was changed'))

/** The login databases of a server whose clock stands still until it is told otherwise. */
function createLogins() {
  let nowMs = 0
  const logins = createLoginDatabases({ baseUrl: database.url, open, restorePassword, now: () => nowMs })
  onTestFinished(() => logins.closeAll())
  const { username, password } = new URL(database.url)
  const known = { name: username, password }
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { logins, known, pass }
}

const askForMany = (logins: LoginDatabases): void => {
  for (let count = 0; count < 100; count += 1) logins.of({ name: `other_${count}`, password: 'x' }, 'content')
}

test('a database that was just handed out is kept, however many others are asked for', () => {
  const { logins, known } = createLogins()
  const held = logins.of(known, 'content')
  askForMany(logins)
  expect(logins.of(known, 'content')).toBe(held)
})

test('a database that has a connection is kept, however long ago it was asked for', async () => {
  const { logins, known, pass } = createLogins()
  const held = logins.of(known, 'content')
  expect(await held.prisma.project.count()).toBe(0)
  await expect.poll(() => held.pool.idleCount).toBe(1)
  pass(HOUR_MS)
  askForMany(logins)
  expect(logins.of(known, 'content'), 'it has a connection').toBe(held)
})

test('a database without connections is retired, and used on by who holds it', async () => {
  const { logins, known, pass } = createLogins()
  const held = logins.of(known, 'content')
  pass(HOUR_MS)
  askForMany(logins)
  expect(logins.of(known, 'content')).not.toBe(held)
  expect(await held.prisma.project.count()).toBe(0)
  expect((await held.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
})

test('closing ends also what was retired and is in use again', async () => {
  const { logins, known, pass } = createLogins()
  const held = logins.of(known, 'content')
  pass(HOUR_MS)
  askForMany(logins)
  await held.pool.query('SELECT 1')
  await logins.closeAll()
  expect(held.pool.totalCount).toBe(0)
})
