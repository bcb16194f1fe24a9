import { gunzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { request } from 'undici'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { ContentAnswer } from '../../src/content/answer.ts'
import { packAnswer, unpackAnswer } from '../../src/content/packed-answer.ts'
import { createShips, SHIP } from '../support/content/content.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { type RedisServer, startRedis } from '../support/servers/redis.ts'
import { redisTest as test } from '../support/servers/redis-test.ts'
import { applyScript } from '../support/service/projects.ts'
import { SECRET_KEY } from '../support/service/service-process.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let redisServer: RedisServer
let redis: Redis
/** Two processes' worth of services on one database, so that each has memory of its own. */
let wharf: TestWharf
let other: TestWharf

beforeAll(async () => {
  redisServer = await startRedis()
  redis = new Redis(redisServer.url)
  redis.on('error', () => undefined)
  const environment = { REDIS_URL: redisServer.url, WHARF_SECRET_KEY: SECRET_KEY }
  wharf = await startWharf({ environment })
  other = await startWharf({ database: { ...wharf.database, drop: async () => undefined }, environment })
  await createShips(wharf)
})
afterAll(async () => {
  await other.close()
  await wharf.close()
  redis.disconnect()
  await redisServer.kill()
})
/** Another reference, under which nothing is known yet. */
beforeEach(async () => {
  await wharf.root.patch(`${SHIP}?id=eq.3`, { json: { tons: Math.ceil(Math.random() * 1e6) } })
})

const cacheOf = async (from: TestWharf, path = SHIP, headers = {}): Promise<string | undefined> => {
  const answer = await from.root.get(path, { headers })
  expect(answer.status).toBe(200)
  return answer.headers['x-cache']
}

/** Until what was answered is in Redis, which nobody waits for. */
const stored = (least = 1) =>
  expect.poll(async () => (await redis.keys('wharf:content:*')).length).toBeGreaterThanOrEqual(least)

test('an answer is made once for each reference, and known from then on', async () => {
  expect(await cacheOf(wharf)).toBe('miss')
  expect(await cacheOf(wharf)).toBe('hit')
  await wharf.root.patch(`${SHIP}?id=eq.1`, { json: { tons: 4711 } })
  expect(await cacheOf(wharf)).toBe('miss')
  expect((await wharf.root.get(SHIP)).json).toContainEqual(expect.objectContaining({ tons: 4711 }))
})

test('what one process has answered, another knows through Redis', async () => {
  await redis.flushall()
  const made = await wharf.root.get(SHIP)
  await stored()
  const known = await other.root.get(SHIP)
  expect(known.headers['x-cache']).toBe('hit')
  expect(known.text).toBe(made.text)
  expect(known.headers['content-range']).toBe(made.headers['content-range'])
})

test('the same query in another order is the same query, and HEAD the same as GET', async () => {
  expect(await cacheOf(wharf, `${SHIP}?order=id&select=id`)).toBe('miss')
  expect(await cacheOf(wharf, `${SHIP}?select=id&order=id`)).toBe('hit')
  const head = await wharf.root.request('HEAD', `${SHIP}?select=id&order=id`)
  expect(head.headers['x-cache']).toBe('hit')
})

test('what differs in table, query, form, count or range is another answer', async () => {
  const asked: [string, Record<string, string>][] = [
    [SHIP, {}],
    ['/content/ships/live/port', {}],
    [`${SHIP}?id=eq.1`, {}],
    [SHIP, { accept: 'text/csv' }],
    [SHIP, { prefer: 'count=exact' }],
    [SHIP, { range: '0-2' }],
    [SHIP, { 'accept-encoding': 'gzip' }],
    ['/content/ships/live', {}],
  ]
  for (const [path, headers] of asked) expect(await cacheOf(wharf, path, headers), path).toBe('miss')
  for (const [path, headers] of asked) expect(await cacheOf(wharf, path, headers), path).toBe('hit')
})

test('callers with other rights do not share answers, and those with the same do', async () => {
  const [viewer, editor, second] = [
    await wharf.member('ships', 'viewer'),
    await wharf.member('ships', 'editor'),
    await wharf.member('ships', 'viewer'),
  ]
  expect((await viewer.get(SHIP)).headers['x-cache']).toBe('miss')
  expect((await editor.get(SHIP)).headers['x-cache']).toBe('miss')
  expect((await second.get(SHIP)).headers['x-cache']).toBe('hit')
})

test('a long answer is compressed for those who take that', async () => {
  const script = `CREATE TABLE long AS SELECT n, repeat('rope ', 20) AS text FROM generate_series(1, 50) n`
  await applyScript(wharf, 'ships', script)
  const read = async (encoding: string) => {
    const { headers, body } = await request(`${wharf.url}/content/ships/live/long`, {
      headers: { authorization: `Bearer ${ROOT_TOKEN}`, 'accept-encoding': encoding },
    })
    return { coding: headers['content-encoding'], bytes: Buffer.from(await body.arrayBuffer()) }
  }
  const plain = await read('identity')
  for (const encoding of ['gzip', 'br, gzip;q=0.8', 'x-gzip']) {
    const packed = await read(encoding)
    expect(packed.coding).toBe('gzip')
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4)
    expect(gunzipSync(packed.bytes)).toEqual(plain.bytes)
  }
  for (const encoding of ['gzip;q=0', 'br', 'gzip;q=0.0, deflate']) {
    expect(await read(encoding)).toEqual({ coding: undefined, bytes: plain.bytes })
  }
})

test('garbage in Redis, or an answer under a key that is not its own, is a miss', async () => {
  await redis.flushall()
  const first = await wharf.root.get(SHIP)
  await stored()
  const [key = ''] = await redis.keys('wharf:content:*')
  const good = await redis.getBuffer(key)
  if (!good) throw new Error('nothing was stored')
  const flipped = Buffer.from(good)
  flipped[flipped.length - 3] = (flipped.at(-3) ?? 0) ^ 1
  for (const bad of [Buffer.from('garbage'), Buffer.alloc(0), good.subarray(0, -5), flipped]) {
    await redis.set(key, bad)
    const fresh = await startWharf({
      database: { ...wharf.database, drop: async () => undefined },
      environment: { REDIS_URL: redisServer.url, WHARF_SECRET_KEY: SECRET_KEY },
    })
    const answer = await fresh.root.get(SHIP)
    expect(answer.headers['x-cache']).toBe('miss')
    expect(answer.text).toBe(first.text)
    await fresh.close()
  }
})

test('an answer that was kept comes back as it was, from no other bytes and under no other key', () => {
  const answer: ContentAnswer = {
    status: 206,
    reference: 'b7d0a2a4-3f4f-4a27-9f43-0a3e1d3d9c11',
    contentType: 'application/json',
    contentRange: '0-1/9',
    coding: 'identity',
    body: Buffer.from('[{"id":1}]\n{"status":200}\n'),
  }
  const packed = packAnswer('key', answer)
  expect(unpackAnswer('key', packed)).toEqual(answer)
  expect(unpackAnswer('other', packed)).toBeUndefined()
  for (let cut = 0; cut < packed.length; cut += 1) expect(unpackAnswer('key', packed.subarray(0, cut))).toBeUndefined()
})

test('those who ask for the same at the same time share one query', async () => {
  // Of a view that calls a VOLATILE function, everybody would be given an answer of their own.
  await applyScript(
    wharf,
    'ships',
    `CREATE FUNCTION pause() RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (${PAUSE})::text; END $$;
     CREATE VIEW pausing AS SELECT pause() AS open`,
  )
  await withPausePoint(wharf, async (pausePoint) => {
    const asked = Array.from({ length: 6 }, () => wharf.root.get('/content/ships/live/pausing'))
    await pausePoint.reached()
    const waiting = await wharf.database.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    expect(waiting).toHaveLength(1)
    await pausePoint.release()
    const answers = await Promise.all(asked)
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 [{"open":"true"}]']))
  })
})

test('without Redis there is a miss, and never an error', async () => {
  await redisServer.kill()
  expect(await cacheOf(other, `${SHIP}?id=eq.2`)).toBe('miss')
  expect(await cacheOf(other, `${SHIP}?id=eq.2`)).toBe('hit')
  expect((await wharf.root.patch(`${SHIP}?id=eq.2`, { json: { tons: 1 } })).status).toBe(204)
  expect(await cacheOf(other, `${SHIP}?id=eq.2`)).toBe('miss')
  await expect.poll(() => other.log()).toContain('Redis cannot be reached')
})
