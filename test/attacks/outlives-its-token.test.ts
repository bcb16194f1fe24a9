import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { openExport, readRest, readSome } from '../support/archives/open-export.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { openTransactions } from '../support/database/transactions.ts'
import type { ApiClient } from '../support/http/api-client.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
/** What the project `source` has: one row more than `shop`. */
let archive: string

/** A token that its test takes back. */
interface Leaver {
  readonly client: ApiClient
  readonly token: string
  readonly revoke: () => Promise<void>
}

beforeAll(async () => {
  // Without a worker, so that jobs stay queued.
  wharf = await startWharf()
  const table = 'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)'
  await createProject(wharf, 'shop', table)
  await createProject(wharf, 'source', `${table}, (2)`)
  await createProject(
    wharf,
    'large',
    `CREATE TABLE t AS SELECT n, (SELECT string_agg(md5((n * 40 + part)::text), '') FROM generate_series(1, 20) AS part) AS filler
       FROM generate_series(1, 40000) AS n`,
  )
  archive = await exportOf(wharf.root, 'source')
})

afterAll(() => wharf.close())

beforeEach(async () => {
  await wharf.root.put('/projects/shop/roles/importer', {
    json: { content: { import: true, export: true }, system: { import: true } },
  })
})

const tokenSchema = z.object({ id: z.string(), token: z.string() })

async function newLeaver(project = 'shop', role = 'importer'): Promise<Leaver> {
  const json = { name: 'leaver', memberships: [{ project, role }] }
  const { id, token } = tokenSchema.parse((await wharf.root.post('/tokens', { json })).json)
  return {
    client: wharf.root.withToken(token),
    token,
    async revoke() {
      expect((await wharf.root.delete(`/tokens/${id}`)).status).toBe(204)
    },
  }
}

const rowsOf = async (slug: string): Promise<unknown> => (await wharf.root.get(`/content/${slug}/live/t?order=n`)).json

/** Sends half of the archive, and the rest once `meanwhile` has ended. */
const sendInHalves = (client: ApiClient, meanwhile: () => Promise<void>, query = '?targetSlug=shop') =>
  sendArchive(
    client,
    (async function* () {
      const bytes = Buffer.from(archive)
      yield bytes.subarray(0, bytes.length / 2)
      await meanwhile()
      yield bytes.subarray(bytes.length / 2)
    })(),
    { query },
  )

test('imports with a token that is revoked while it uploads', async () => {
  const leaver = await newLeaver()
  expect(await sendInHalves(leaver.client, leaver.revoke)).toMatchObject({
    status: 401,
    json: { type: 'urn:wharf:error:unauthenticated' },
  })
  expect(await rowsOf('shop')).toEqual([{ n: 1 }])
})

test('imports with a role that loses the permission while it uploads', async () => {
  const { client } = await newLeaver()
  const lose = async (): Promise<void> => {
    await wharf.root.put('/projects/shop/roles/importer', { json: {} })
  }
  expect(await sendInHalves(client, lose)).toMatchObject({ status: 403, json: { type: 'urn:wharf:error:forbidden' } })
  expect(await rowsOf('shop')).toEqual([{ n: 1 }])
})

test.each([{}, { 'idempotency-key': 'before' }])(
  'has a job made at the very moment at which its token is revoked %o',
  async (headers) => {
    const leaver = await newLeaver()
    const sent = { query: '?targetSlug=shop', headers: { prefer: 'respond-async', ...headers } }
    if ('idempotency-key' in headers) expect((await sendArchive(leaver.client, archive, sent)).status).toBe(202)
    const before = await traces()
    const answer = await whileRevoking(leaver, () => sendArchive(leaver.client, archive, sent))
    expect(answer).toMatchObject({ status: 401, json: { type: 'urn:wharf:error:unauthenticated' } })
    expect(await traces()).toEqual(before)
  },
)

/** Jobs, and uploads that are kept for one. */
const traces = () =>
  wharf.database.query(
    `SELECT id FROM control.job UNION ALL SELECT id FROM control.artifact WHERE state <> 'deleted' ORDER BY 1`,
  )

/** Does something while the token is being revoked, which is committed once that waits for it. */
async function whileRevoking<T>({ token }: Leaver, ask: () => Promise<T>): Promise<T> {
  return withSession(wharf.database.url, async (session) => {
    await session.query('BEGIN')
    await session.query(`UPDATE control.token SET revoked_at = now() WHERE hash = sha256($1::bytea)`, [
      Buffer.from(token),
    ])
    const asked = ask()
    const isAnswered = asked.then(
      () => true,
      () => true,
    )
    const isWaiting = async (): Promise<boolean> =>
      (await openTransactions(wharf)).some(({ waits }) => waits === 'Lock') ||
      Promise.race([isAnswered, Promise.resolve(false)])
    await expect.poll(isWaiting).toBe(true)
    await session.query('COMMIT')
    return asked
  })
}

test('commits an import at the very moment at which its token is revoked', async () => {
  const leaver = await newLeaver()
  const answer = await whileRevoking(leaver, () => sendArchive(leaver.client, archive, { query: '?targetSlug=shop' }))
  expect(answer).toMatchObject({ status: 401 })
  expect(await rowsOf('shop')).toEqual([{ n: 1 }])
})

test('undoes an import at the very moment at which its token is revoked', async () => {
  expect((await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })).status).toBe(200)
  const leaver = await newLeaver()
  const path = '/projects/shop/stages/live/undo'
  expect(await whileRevoking(leaver, () => leaver.client.post(path))).toMatchObject({ status: 401 })
  expect(await rowsOf('shop')).toEqual([{ n: 1 }, { n: 2 }])
  expect((await wharf.root.post(path)).status).toBe(200)
})

test('puts its revoking off by a transaction that its import has to wait for', async () => {
  const leaver = await newLeaver()
  const answer = await withSession((await loginUrl(wharf, 'shop')).href, async (session) => {
    await session.query('BEGIN; LOCK TABLE "shop.live".t IN ROW EXCLUSIVE MODE')
    const asked = sendArchive(leaver.client, archive, { query: '?targetSlug=shop' })
    await expect.poll(async () => (await openTransactions(wharf)).some(({ waits }) => waits === 'Lock')).toBe(true)
    await leaver.revoke()
    return asked
  })
  expect(answer).toMatchObject({ status: 409 })
  expect(await rowsOf('shop')).toEqual([{ n: 1 }])
})

test('applies a script with a token that is revoked while it runs', async () => {
  const leaver = await newLeaver('shop', 'admin')
  const answer = await withPausePoint(wharf, async (pausePoint) => {
    const asked = leaver.client.post('/projects/shop/stages/live/schema', {
      headers: { 'content-type': 'application/sql' },
      body: `CREATE TABLE made AS SELECT 1 AS n WHERE ${PAUSE}`,
    })
    await pausePoint.reached()
    await leaver.revoke()
    await pausePoint.release()
    return asked
  })
  expect(answer).toMatchObject({ status: 401 })
  expect((await wharf.root.get('/content/shop/live/made')).status).toBe(404)
})

test('has a script committed after its token was revoked, by a trigger that makes the commit long', async () => {
  const apply = (client: ApiClient, body: string) =>
    client.post('/projects/shop/stages/live/schema', { headers: { 'content-type': 'application/sql' }, body })
  const put = `CREATE TABLE late (n int);
    CREATE FUNCTION put_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.n = 1 THEN SET CONSTRAINTS ALL DEFERRED; INSERT INTO late VALUES (2);
      ELSIF NEW.n = 2 THEN PERFORM pg_catalog.pg_sleep(3); END IF;
      RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION put_off()`
  expect(await apply(wharf.root, put)).toMatchObject({ status: 200 })
  const leaver = await newLeaver('shop', 'admin')
  const asked = apply(leaver.client, 'INSERT INTO late VALUES (1)')
  const { username } = await loginUrl(wharf, 'shop')
  const committing = async () =>
    (await openTransactions(wharf)).filter(({ login, query }) => login === username && query === 'COMMIT')
  await expect.poll(async () => (await committing()).length, { interval: 20 }).toBe(1)
  await leaver.revoke()
  expect(await committing()).toEqual([])
  expect(await asked).toMatchObject({ status: 200 })
})

test('goes on being told of a job after its token was revoked', async () => {
  const leaver = await newLeaver()
  const job = jobOf(await askExport(leaver.client, [{ slug: 'shop' }]))
  const asked = request(`${wharf.url}/jobs/${job.id}/events`, { headers: { authorization: `Bearer ${leaver.token}` } })
  asked.end()
  const [events]: [IncomingMessage] = (await once(asked, 'response')) as [IncomingMessage]
  await once(events, 'readable')
  await leaver.revoke()
  const received = (await text(events)).split('\n\n').filter((event) => event !== '')
  expect(received.at(-1)).toMatch(/^event: error\ndata: \{"type":"urn:wharf:error:unauthenticated"/)
  expect(received.filter((event) => event.startsWith('event: job'))).toHaveLength(1)
})

test('is told of a job that it waited for while its token was revoked', async () => {
  const leaver = await newLeaver()
  const job = jobOf(await askExport(leaver.client, [{ slug: 'shop' }]))
  const answer = leaver.client.get(`/jobs/${job.id}`, { headers: { prefer: 'wait=30' } })
  // By then the request before them waits.
  for (const _ of [1, 2]) await leaver.client.get('/me')
  await leaver.revoke()
  expect((await wharf.root.post(`/jobs/${job.id}/cancel`)).status).toBe(202)
  expect((await answer).status).toBe(401)
})

test('reads an export to its end after its token was revoked', async () => {
  const leaver = await newLeaver('large', 'admin')
  const answer = await openExport(wharf, ['large'], { authorization: `Bearer ${leaver.token}` })
  await readSome(answer, 1)
  await leaver.revoke()
  await new Promise((resolve) => setTimeout(resolve, 2 * wharf.container.jobTimings.authorisationMs))
  await expect(readRest(answer)).rejects.toThrow()
})
