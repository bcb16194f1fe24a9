import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { exportOf, sendArchive } from './support/import.ts'
import { installedPrograms, type OwnCluster, startOwnCluster } from './support/own-cluster.ts'
import { createProject } from './support/projects.ts'
import { startWharf, type TestWharf } from './support/wharf.ts'

/*
 * A server whose processes are all there, with their connections, and do nothing.
 */

const programs = installedPrograms()

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

  test('every route says that the database is out of reach, and works again afterwards', async () => {
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
    const askAll = (): Promise<readonly (readonly [string, number])[]> =>
      Promise.all(Object.entries(routes).map(async ([name, ask]) => [name, (await ask()).status] as const))
    const warm = await askAll()
    expect(
      warm.every(([, status]) => status < 500 || status === 503),
      JSON.stringify(warm),
    ).toBe(true)
    const thaw = await cluster.freeze()
    try {
      expect(await askAll()).toEqual(Object.keys(routes).map((name) => [name, 503]))
    } finally {
      thaw()
    }
    const again = ['me', 'projects', 'readiness', 'a read', 'a write', 'an export', 'an import']
    for (const name of again) await eventually(async () => (await routes[name]?.())?.status).toBeLessThan(300)
  })
})
