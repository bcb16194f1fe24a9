import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { askTogether, runTogether } from '../../src/database/ask-together.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { openStage, type StageSession } from '../support/database/stage-session.ts'

let database: TestDatabase
let stage: StageSession
let client: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  stage = await openStage(database.url, 'asking')
  client = stage.client
})

afterAll(async () => {
  await stage?.end()
  await database?.drop()
})

/** How a session says which error it has got, without what else stands there. */
const codeOf = (outcome: PromiseSettledResult<unknown>): unknown =>
  outcome.status === 'rejected' ? outcome.reason.code : outcome.value

test('gives what is asked at the same time the values that it has when it is asked alone', async () => {
  const ask = askTogether(client)
  const questions = [
    [
      `SELECT 1 AS number, true AS yes, NULL::text AS nothing, '{"a":[1]}'::json AS json, '{a,NULL,"b c"}'::text[] AS list`,
    ],
    [
      'SELECT $1::text AS text, $2::boolean AS yes, $3::int AS number, $4::text AS nothing',
      ['Zürich 🎉', false, 7, null],
    ],
    ['SELECT $1::text[] AS list', [['a', 'b']]],
    ['SELECT FROM generate_series(1, 2)'],
    ['SELECT 1 WHERE false'],
  ] as const
  const alone: unknown[] = []
  for (const [sql, parameters] of questions) alone.push(await ask(sql, parameters))
  expect(await Promise.all(questions.map(([sql, parameters]) => ask(sql, parameters)))).toEqual(alone)
  const plain = questions.filter(([, parameters = []]) => !parameters.some(Array.isArray))
  const answers = await Promise.all(plain.map(([sql, parameters]) => ask(sql, parameters)))
  expect(answers).toEqual(plain.map((question) => alone[questions.indexOf(question)]))
})

test('answers what is asked while others are answered', async () => {
  const ask = askTogether(client)
  const nested = async (number: number): Promise<unknown> => {
    const [row] = await ask<{ number: number }>('SELECT $1::int + 1 AS number', [number])
    return ask('SELECT $1::int AS number', [row?.number])
  }
  expect(await Promise.all([nested(1), ask('SELECT pg_sleep(0.01)'), nested(2)])).toMatchObject([
    [{ number: 2 }],
    [{}],
    [{ number: 3 }],
  ])
})

test('says of what is asked together which error it ended with, and goes on in the next message', async () => {
  const ask = askTogether(client)
  const outcomes = await Promise.allSettled([ask('SELECT 1'), ask('SELECT 1 / 0'), ask('SELECT 2')])
  expect(outcomes.map(codeOf)).toEqual(['22012', '22012', '22012'])
  expect(await Promise.all([ask('SELECT 3 AS three'), ask('SELECT 4 AS four')])).toEqual([
    [{ three: 3 }],
    [{ four: 4 }],
  ])
})

test('runs statements up to the first that fails', async () => {
  const made = Array.from({ length: 150 }, (_, index) => `CREATE TABLE t${index} ()`)
  await client.query('BEGIN')
  await runTogether(client, made)
  const { rows } = await client.query(`SELECT count(*)::int FROM pg_class WHERE relnamespace = 'asking'::regnamespace`)
  expect(rows).toEqual([{ count: 150 }])
  await client.query('ROLLBACK')
  // Outside of a transaction: what is skipped is not there, either.
  await expect(runTogether(client, ['SELECT 1 / 0', 'CREATE TABLE skipped ()'])).rejects.toMatchObject({
    code: '22012',
  })
  expect(await askTogether(client)(`SELECT to_regclass('skipped')::text AS name`)).toEqual([{ name: null }])
})

test('refuses a text of several statements', async () => {
  await expect(runTogether(client, ['SELECT 1', 'SELECT 2; SELECT 3'])).rejects.toMatchObject({ code: '42601' })
})

test('fails where a statement takes rows, instead of waiting for them', async () => {
  const other = await openStage(database.url, 'copying')
  other.client.on('error', () => undefined)
  await other.run(['CREATE TABLE t ()'])
  await expect(runTogether(other.client, ['COPY t FROM STDIN', 'SELECT 1'])).rejects.toThrow()
  await other.end().catch(() => undefined)
})
