import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, untilEnded, untilStatus } from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { SECRET_KEY, startServiceProcess } from '../support/service/service-process.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

/** What the documentation gives requests, and then jobs, which have less unless tests are thorough. */
const REQUESTS_MS = 10_000
const JOBS_MS = isThorough ? 8_000 : 1_000
/** For a busy machine. */
const BUSY_MS = 7_000

const environment = { WHARF_SECRET_KEY: SECRET_KEY, WHARF_LOG_LEVEL: 'info' }
const STOPPED = { status: 503, json: { type: 'urn:wharf:error:shutting-down' } }

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf({ environment })
  await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
})
afterAll(() => wharf.close())

const waiting = async (query: RegExp) =>
  (await openTransactions(wharf)).filter((transaction) => transaction.waits === 'Lock' && query.test(transaction.query))

test('a stop ends a job, a change of structure and an export that all wait for a lock', {
  timeout: 120_000,
}, async () => {
  const service = await startServiceProcess({
    databaseUrl: wharf.database.url,
    dataDir: wharf.dataDir,
    environment,
    jobTimings: isThorough ? undefined : { graceMs: JOBS_MS },
  })
  const asked = await withSession((await loginUrl(wharf, 'shop')).href, async (blocker) => {
    await blocker.query('BEGIN; LOCK TABLE "shop.live".item')
    // By which the client knows what answers there are.
    expect((await service.root.get('/healthz')).status).toBe(200)
    const job = jobOf(await askExport(service.root, [{ slug: 'shop' }]))
    const exporting = service.root.post('/export', { json: { projects: [{ slug: 'shop' }] } })
    const applying = applyScript(service, 'shop', 'ALTER TABLE item ADD name text')
    await eventually(() => waiting(/^LOCK TABLE/)).toHaveLength(2)
    await eventually(() => waiting(/^DO /)).toHaveLength(1)

    const sinceMs = performance.now()
    expect(await service.kill('SIGTERM')).toBe(0)
    expect(performance.now() - sinceMs).toBeLessThan(REQUESTS_MS + JOBS_MS + BUSY_MS)

    expect(await exporting).toMatchObject(STOPPED)
    expect(await applying).toMatchObject(STOPPED)
    expect(await untilStatus(wharf.root, job.id, 'queued')).toMatchObject({ attempt: 1 })
    expect(service.log()).toContain('job given back')
    await eventually(async () =>
      (await openTransactions(wharf)).filter(({ query }) => !query.startsWith('BEGIN')),
    ).toEqual([])
    return job
  })
  const next = await startWharf({ beside: wharf, environment, worker: true })
  expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded', attempt: 2 })
  await next.close()
  await nothingIsLeft(wharf)
})
