import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectFor, onceFewWait } from '../../src/content/table-shares.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 3 })
  pool.on('error', () => undefined)
})

afterAll(async () => {
  await pool?.end()
  await database?.drop()
})

const HOUR_MS = 3_600_000

/** Whether something that may wait for an hour has been done. */
function whenFewWait(): () => boolean {
  let isDone = false
  onceFewWait(HOUR_MS, () => {
    isDone = true
  })
  return () => isDone
}

test('what waits for few to wait is done at once where nobody does, and else once connections have become free', async () => {
  await expect.poll(whenFewWait()).toBe(true)
  const held = [await connectFor(pool, 'item'), await connectFor(pool, 'item')]
  const waiting = Array.from({ length: 12 }, async () => {
    const client = await connectFor(pool, 'item')
    held.push(client)
  })
  const isDone = whenFewWait()
  await new Promise((resolve) => setImmediate(resolve))
  expect(isDone()).toBe(false)
  held.shift()?.release()
  await waiting[0]
  expect(isDone(), 'eleven wait').toBe(false)
  held.shift()?.release()
  await waiting[1]
  expect(isDone(), 'ten wait').toBe(true)
  for (const next of waiting.slice(2)) {
    held.shift()?.release()
    await next
  }
  for (const client of held) client.release()
})

test('it is done in time where many go on waiting', async () => {
  const held = [await connectFor(pool, 'item'), await connectFor(pool, 'item')]
  const waiting = Array.from({ length: 12 }, () => connectFor(pool, 'item').then((client) => client.release()))
  await new Promise<void>((resolve) => onceFewWait(1, resolve))
  for (const client of held) client.release()
  await Promise.all(waiting)
})
