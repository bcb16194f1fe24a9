import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportOf } from '../support/archives/import.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import type { ApiAnswer, ApiClient } from '../support/http/api-client.ts'
import {
  artifactsOf,
  askExport,
  askImport,
  BACKENDS,
  jobOf,
  type SeenJob,
  startBackend,
  untilEnded,
} from '../support/jobs/jobs.ts'
import { askSchedule } from '../support/jobs/schedules.ts'
import type { RedisServer } from '../support/servers/redis.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLE = 'CREATE TABLE item (id integer PRIMARY KEY, name text);'

describe.each(BACKENDS)('with the queue on %s', (backend) => {
  let wharf: TestWharf
  let environment: Readonly<Record<string, string>>
  let redis: RedisServer | undefined

  beforeAll(async () => {
    const queue = await startBackend(backend)
    redis = queue.redis
    environment = { ...queue.environment, WHARF_TRANSFER_HOSTS: '127.0.0.1:1' }
    wharf = await startWharf({ environment })
    await createProject(wharf, 'shop', `${TABLE} INSERT INTO item VALUES (1, 'one'), (2, 'two')`)
  })

  afterAll(async () => {
    await wharf?.close()
    await redis?.kill()
  })

  /** Every row of every table but those of the projects. */
  async function tables(): Promise<string> {
    const names = await wharf.database.query<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
        WHERE table_schema IN ('control', 'system', 'bullmq') AND table_type = 'BASE TABLE'`,
    )
    const rows = names.map(({ name }) => wharf.database.query(`SELECT t::text FROM ${name} AS t`))
    return JSON.stringify(await Promise.all(rows))
  }

  /** One job that goes well, one that fails on a row, one that fails on another server, and a schedule. */
  async function askForAll(client: ApiClient, secret: { dsn: string; row: string }): Promise<ApiAnswer[]> {
    const archive = (await exportOf(client, 'shop')).replace('[2, "two"]', `[1, "${secret.row}"]`)
    expect(archive).toContain(secret.row)
    const toOther = { source: { project: 'shop' }, target: { dsn: `wharf+http://far:${secret.dsn}@127.0.0.1:1` } }
    return [
      await askExport(client, [{ slug: 'shop' }]),
      await askImport(client, archive, '?allowEdited=true'),
      await client.post('/transfer', { json: toOther }),
      await askSchedule(client, 'shop', { kind: 'transfer', request: toOther }),
    ]
  }

  test('neither queue, tables, log nor answers have a token, a password or a row in them', async () => {
    const { token, client } = await createToken(wharf, 'admin', 'shop')
    const canaries = { dsn: `wharf_${'canary'.repeat(8)}`, row: 'a row that nobody else may see' }
    const asked = await askForAll(client, canaries)
    const jobs = asked.slice(0, 3).map(jobOf)
    const found: Record<string, string> = { 'tables while they wait': await tables() }
    if (redis) found['Redis while they wait'] = await redis.dump()

    const worker = await startWharf({ beside: wharf, environment, worker: true })
    const ended: SeenJob[] = []
    for (const job of jobs) ended.push(await untilEnded(client, job))
    expect(ended).toMatchObject([
      { status: 'succeeded' },
      { status: 'failed', error: { code: 'CONFLICT' } },
      { status: 'failed', error: { code: 'REMOTE_FAILED' } },
    ])
    if (redis) found['Redis afterwards'] = await redis.dump()
    found['tables afterwards'] = await tables()
    found.log = wharf.log() + worker.log()
    found.answers = [...asked.map(({ text }) => text), JSON.stringify(ended)].join('\n')
    await worker.close()

    const passwords = [(await loginUrl(wharf, 'shop')).password, new URL(wharf.database.url).password]
    const key = (await readFile(join(wharf.dataDir, 'secret-key'), 'utf8')).trim()
    const secrets = [token, ROOT_TOKEN, key, ...passwords, ...Object.values(canaries)]
    for (const [where, text] of Object.entries(found)) {
      // Where they wait, they are; only what is secret of them is not.
      if (where.endsWith('wait')) expect(text, where).toContain(jobs[0]?.id)
      for (const secret of secrets) {
        const forms = [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]
        expect(secret.length, where).toBeGreaterThan(16)
        expect(
          forms.filter((form) => text.includes(form)),
          where,
        ).toEqual([])
      }
    }
  })
})

test('an export whose token is revoked while it runs is stopped, and there is nothing to be had with it', async () => {
  const wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', TABLE)
  const { id, client } = await createToken(wharf, 'admin', 'shop')
  const asked = await withSession(wharf.database.url, async (locker) => {
    await locker.query('BEGIN; LOCK TABLE "shop.live".item IN ACCESS EXCLUSIVE MODE')
    const job = jobOf(await askExport(client, [{ slug: 'shop' }]))
    await eventually(async () => (await openTransactions(wharf)).some(({ waits }) => waits === 'Lock')).toBe(true)
    expect(await wharf.root.delete(`/tokens/${id}`)).toMatchObject({ status: 204 })
    return untilEnded(wharf.root, job)
  })
  expect(asked).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'AUTHORIZATION_REVOKED' } })
  expect(await client.get(`/jobs/${asked.id}/file`)).toMatchObject({ status: 401 })
  expect(await client.get(`/jobs/${asked.id}`)).toMatchObject({ status: 401 })
  expect(await wharf.root.get(`/jobs/${asked.id}/file`)).toMatchObject({ status: 409 })
  await eventually(() => artifactsOf(wharf)).toEqual({ records: [], files: 0 })
  await wharf.close()
})

test('an archive that was made is not to be had with a token that has been revoked since', async () => {
  const wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', TABLE)
  const { id, client } = await createToken(wharf, 'admin', 'shop')
  const { id: job } = await untilEnded(wharf.root, jobOf(await askExport(client, [{ slug: 'shop' }])))
  expect(await client.get(`/jobs/${job}/file`)).toMatchObject({ status: 200 })
  await wharf.root.delete(`/tokens/${id}`)
  for (const headers of [{}, { range: 'bytes=5-' }]) {
    expect(await client.get(`/jobs/${job}/file`, { headers })).toMatchObject({ status: 401 })
  }
  await wharf.close()
})
