import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../support/archives/import.ts'
import { openExport, readRest, readSome } from '../support/archives/open-export.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { nothingIsLeft } from '../support/service/leftovers.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * A server whose processes are all there, with their connections, and do nothing.
 */

const programs = installedPrograms()

/** Longer than the lease of a job, and than it takes until the server counts as hanging. */
const FROZEN_MS = 12_000

/** More than lies in buffers on the way to a client. */
const LARGE = `
  CREATE TABLE item (id int PRIMARY KEY, text text); ALTER TABLE item ALTER text SET STORAGE EXTERNAL;
  INSERT INTO item SELECT id, repeat(md5(id::text), 100) FROM pg_catalog.generate_series(1, 20000) id`

/** With rows that take two seconds to be imported. */
const SLOW = `
  CREATE TABLE item (id int PRIMARY KEY CHECK (pg_catalog.pg_sleep(0.02) IS NOT NULL));
  INSERT INTO item SELECT pg_catalog.generate_series(1, 100)`

describe.runIf(programs !== undefined)('on a PostgreSQL that can be frozen', () => {
  let cluster: OwnCluster
  let wharf: TestWharf

  beforeAll(async () => {
    cluster = await startOwnCluster(programs ?? '')
    wharf = await startWharf({ database: await cluster.createDatabase() })
    await createProject(wharf, 'shop', 'CREATE TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)')
  })

  afterAll(async () => {
    await wharf?.close()
    await cluster?.remove()
  })

  /** A request for every route whose answer needs the database, by what it is. */
  async function prepareRoutes() {
    const { root } = wharf
    const member = await wharf.member('shop', 'admin')
    const archive = await exportOf(root, 'shop')
    const routes: Readonly<Record<string, () => Promise<{ readonly status: number; readonly text: string }>>> = {
      me: () => member.get('/me'),
      projects: () => member.get('/projects'),
      readiness: () => root.get('/readyz'),
      'a read': () => member.get('/content/shop/live/item'),
      'a write': () => member.post('/content/shop/live/item', { json: { id: Math.floor(Math.random() * 1e9) } }),
      'an export': () => member.post('/export', { json: { projects: [{ slug: 'shop' }] } }),
      'an import': () => sendArchive(member, archive),
    }
    return {
      routes,
      askAll: (): Promise<readonly (readonly [string, number])[]> =>
        Promise.all(Object.entries(routes).map(async ([name, ask]) => [name, (await ask()).status] as const)),
    }
  }

  test('every route says that it is out of reach; what is under way goes on when it thaws, or says why not', {
    timeout: 180_000,
  }, async () => {
    const { routes, askAll } = await prepareRoutes()
    const warm = await askAll()
    expect(
      warm.every(([, status]) => status < 500 || status === 503),
      JSON.stringify(warm),
    ).toBe(true)

    const working = await startWharf({ database: await cluster.createDatabase(), worker: true })
    onTestFinished(() => working.close())
    const { root, database } = working
    await createProject(working, 'large', LARGE)
    const archives = await Promise.all(
      ['slow', 'slow-too'].map(async (slug) => {
        await createProject(working, slug, SLOW)
        return exportOf(root, slug)
      }),
    )
    const [archive = '', archiveToo = ''] = archives
    const response = await openExport(working, ['large'])
    const beginning = await readSome(response, 1)
    const jobs = [jobOf(await askImport(root, archiveToo)), jobOf(await askExport(root, [{ slug: 'large' }]))]
    const importing = sendArchive(root, archive)
    const sleeping = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
    await eventually(async () => (await database.query(sleeping)).length).toBe(2)

    const thaw = await cluster.freeze()
    try {
      const [answers] = await Promise.all([askAll(), delay(FROZEN_MS)])
      expect(answers).toEqual(Object.keys(routes).map((name) => [name, 503]))
    } finally {
      thaw()
    }
    for (const ask of Object.values(routes)) await eventually(async () => (await ask()).status).toBeLessThan(300)

    const exported = Buffer.concat([beginning, await readRest(response)]).toString()
    expect(comparableLines(exported)).toEqual(comparableLines(await exportOf(root, 'large')))
    expect(await importing).toSatisfy(
      ({ status, text }) => status === 200 || (status === 503 && text.includes('urn:wharf:error:database-unavailable')),
    )
    for (const job of jobs) expect(await untilEnded(root, job)).toMatchObject({ status: 'succeeded' })
    expect(comparableLines(await exportOf(root, 'slow'))).toEqual(comparableLines(archive))
    expect(comparableLines(await exportOf(root, 'slow-too'))).toEqual(comparableLines(archiveToo))
    await nothingIsLeft(working)
  })
})
