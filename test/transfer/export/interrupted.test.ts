import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tablesOf } from '../../support/archives/archive-text.ts'
import { openExport, readRest, readSome } from '../../support/archives/open-export.ts'
import { createMigratedDatabase } from '../../support/database/database.ts'
import { noTransactionStaysOpen, openTransactions } from '../../support/database/transactions.ts'
import { eventually } from '../../support/eventually.ts'
import { startTcpRelay, type TcpRelay } from '../../support/servers/tcp-relay.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const MEBIBYTE = 1024 * 1024

/** The archive of it has some 100 MB, more than the buffers between a server and a client take. */
const bigTable = (rows: number): string => `
  CREATE UNLOGGED TABLE big AS
  SELECT n AS id, repeat(md5(n::text), 9) AS filler FROM generate_series(1, ${rows}) n`

let relay: TcpRelay
let wharf: TestWharf

beforeAll(async () => {
  const database = await createMigratedDatabase()
  relay = await startTcpRelay(database.url)
  wharf = await startWharf({ database, databaseUrl: relay.url })
  await createProject(wharf, 'big', bigTable(300_000))
  await createProject(wharf, 'small', 'CREATE TABLE t AS SELECT 1 AS n')
})

afterAll(async () => {
  await wharf.close()
  await relay.cut()
})

const logLines = (): Record<string, unknown>[] =>
  wharf
    .log()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const asksForGzip = { 'content-encoding': 'gzip' }

test.for([
  ['plain', {}],
  ['gzip', asksForGzip],
] as const)('a client that goes away in the middle leaves no transaction open (%s)', async ([, headers]) => {
  const response = await openExport(wharf, ['big'], headers)
  await readSome(response, MEBIBYTE)
  expect((await openTransactions(wharf)).length).toBeGreaterThan(1)
  response.destroy()
  await noTransactionStaysOpen(wharf)
})

test('an export waits for a client that stops reading', async () => {
  const held = process.memoryUsage().arrayBuffers
  const response = await openExport(wharf, ['big'])
  const beginning = await readSome(response, MEBIBYTE)
  const [, project] = (await openTransactions(wharf)).toSorted((a) => (a.login === 'wharf' ? -1 : 1))
  const lastChange = () =>
    wharf.database.query('SELECT state, state_change FROM pg_stat_activity WHERE pid = $1', [project?.pid])
  const isStanding = async (): Promise<boolean> => {
    const before = await lastChange()
    await delay(500)
    return JSON.stringify(before) === JSON.stringify(await lastChange())
  }
  await eventually(isStanding).toBe(true)
  // Between this process and itself lie the buffers of the sockets, which the system makes a few megabytes large.
  expect(process.memoryUsage().arrayBuffers - held).toBeLessThan(60 * MEBIBYTE)
  response.destroy()
  await noTransactionStaysOpen(wharf)
  await eventually(() => lastAccess()).toMatchObject({ path: '/export', complete: false })
  expect(beginning.length).toBeLessThan(2 * MEBIBYTE)
  expect(Number(lastAccess()?.bytes)).toBeLessThan(30 * MEBIBYTE)
})

const lastAccess = () => logLines().findLast(({ msg }) => msg === 'request')

test.for([
  ['plain', {}],
  ['gzip', asksForGzip],
] as const)(
  'an export whose database session dies ends in a broken transfer, never a clean one (%s)',
  async ([, headers]) => {
    const response = await openExport(wharf, ['big'], headers)
    const beginning = await readSome(response, MEBIBYTE)
    const killed = await wharf.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND usename LIKE 'wharf_%' AND xact_start IS NOT NULL`,
    )
    expect(killed).not.toHaveLength(0)
    await expect(readRest(response)).rejects.toThrow(/aborted|ECONNRESET/)
    expect(beginning.length).toBeGreaterThan(0)
    await noTransactionStaysOpen(wharf)
    const failures = () => logLines().filter(({ msg }) => msg === 'request failed')
    await eventually(failures).toContainEqual(
      expect.objectContaining({
        requestId: response.headers['x-request-id'],
        level: 40,
        code: 'DATABASE_UNAVAILABLE',
      }),
    )
    const again = await wharf.root.post('/export', { json: { projects: [{ slug: 'small' }] } })
    expect(tablesOf(again.text)).toMatchObject([{ path: 'small/live/t', rows: [[1]] }])
  },
)

test('an export whose database cannot be reached any more breaks off, and later calls say 503 until it is back', async () => {
  const response = await openExport(wharf, ['big'])
  await readSome(response, MEBIBYTE)
  await relay.cut()
  await expect(readRest(response)).rejects.toThrow(/aborted|ECONNRESET/)

  for (const path of ['/export', '/projects', '/tokens']) {
    const json = path === '/export' ? { projects: [{ slug: 'small' }] } : undefined
    const answer = await wharf.root.request(json ? 'POST' : 'GET', path, { json })
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
      json: { type: 'urn:wharf:error:database-unavailable' },
    })
  }
  expect((await wharf.root.withToken('unknown').get('/me')).status).toBe(503)
  expect((await wharf.root.get('/readyz')).status).toBe(503)
  expect((await wharf.root.get('/healthz')).status).toBe(200)
  const metrics = await wharf.root.get('/metrics')
  expect(metrics).toMatchObject({
    status: 200,
    text: expect.stringMatching(/^wharf_dependency_up\{.*"database"\} 0$/m),
  })
  expect(metrics.text).not.toMatch(/^wharf_jobs\{/m)

  await relay.mend()
  const again = await wharf.root.post('/export', { json: { projects: [{ slug: 'small' }] } })
  expect(tablesOf(again.text)).toMatchObject([{ path: 'small/live/t', rows: [[1]] }])
  expect((await wharf.root.get('/readyz')).status).toBe(200)
})

test('a project that is deleted while it is exported breaks the export off and is gone at once', async () => {
  await createProject(wharf, 'doomed', bigTable(300_000))
  const response = await openExport(wharf, ['doomed'])
  await readSome(response, MEBIBYTE)
  expect((await wharf.root.delete('/projects/doomed')).status).toBe(204)
  await expect(readRest(response)).rejects.toThrow(/aborted|ECONNRESET/)
  expect((await wharf.root.get('/projects/doomed')).status).toBe(404)
})

test('a stage that is being exported is not deleted', async () => {
  const response = await openExport(wharf, ['big'])
  await readSome(response, MEBIBYTE)
  const answer = await wharf.root.delete('/projects/big/stages/live')
  expect(answer.status).toBe(409)
  expect(answer.text).toContain('is being read, perhaps by an export')
  const rest = await readRest(response)
  expect(rest.toString('utf8', rest.length - 100)).toMatch(/\n\{"end":\{"projects":1,"rows":300000\}\}\n$/)
})
