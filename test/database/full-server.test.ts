import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createIdleConnections } from '../../src/database/idle-connections.ts'
import { createPool } from '../../src/database/pool.ts'
import { createLogger } from '../../src/logger.ts'
import { exportOf } from '../support/archives/import.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { openSession, query } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const programs = installedPrograms()

const ROOM = 40
const SLUGS = Array.from({ length: 35 }, (_, n) => `shop-${n}`)

describe.runIf(programs !== undefined)('on a server with room for about as many sessions as there are projects', () => {
  let cluster: OwnCluster
  let wharf: TestWharf

  beforeAll(async () => {
    cluster = await startOwnCluster(programs ?? '', { settings: { max_connections: String(ROOM) } })
    wharf = await startWharf({ database: await cluster.createServiceDatabase() })
    for (const slug of SLUGS)
      await createProject(wharf, slug, 'CREATE TABLE item (id int); INSERT INTO item VALUES (1)')
  })

  afterAll(async () => {
    await wharf?.close()
    await cluster?.remove()
  })

  const read = async (slug: string) => {
    const { status, text } = await wharf.root.get(`/content/${slug}/live/item`)
    return { status, text }
  }
  const done = { status: 200, text: '[{"id":1}]' }

  test('each is served, one after the other and many at once, and the service stays ready', async () => {
    for (const slug of SLUGS) expect(await read(slug), slug).toEqual(done)
    expect(await Promise.all(SLUGS.slice(0, 10).map(read))).toEqual(Array.from({ length: 10 }, () => done))
    for (const slug of SLUGS.slice(-10)) expect(await exportOf(wharf.root, slug), slug).toContain('"row":[1]')
    expect((await wharf.root.get('/readyz')).status).toBe(200)
  })

  test('where others have all the rest, each is served with what Wharf has; who has none to give back is refused', async () => {
    const others = await Promise.all(
      Array.from({ length: ROOM }, () => openSession(cluster.url).catch(() => undefined)),
    )
    onTestFinished(async () => void (await Promise.all(others.map((each) => each?.end()))))
    for (const slug of SLUGS) expect(await read(slug), slug).toEqual(done)
    const options = { maxConnections: 1, session: 'bare' } as const
    const pool = createPool(cluster.url, options, createLogger('silent'), createIdleConnections())
    await expect(pool.connect()).rejects.toMatchObject({ code: '53300' })
    await pool.end()
  })

  test('a login that has as many sessions as it may have gets what it does not use elsewhere', async () => {
    const { username } = await loginUrl(wharf, 'shop-0')
    expect(await read('shop-0')).toEqual(done)
    const pool = wharf.container.logins.opened(username, 'content')?.pool
    const lent = await Promise.all(Array.from({ length: 4 }, () => pool?.connect()))
    for (const client of lent) client?.release()
    expect(pool?.idleCount).toBe(4)
    await query(cluster.superuserUrl, `ALTER ROLE "${username}" CONNECTION LIMIT 4`)
    expect(await exportOf(wharf.root, 'shop-0')).toContain('"row":[1]')
    expect(pool?.idleCount).toBeLessThan(4)
  })
})
