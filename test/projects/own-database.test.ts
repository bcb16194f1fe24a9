import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createOwnDatabases } from '../../src/projects/own-database/own-databases.ts'
import { deleteOwnProject, sweepOwnProjects } from '../../src/projects/own-database/own-project.ts'
import { findProject } from '../../src/projects/projects.ts'
import { comparableLines, contentsOf, exportOf, sendArchive } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { startOwnCluster } from '../support/servers/own-cluster.ts'
import { openSession, query, withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { startWharfOfLogin } from '../support/service/wharf-of-login.ts'

const DUMP = join(import.meta.dirname, '..', 'fixtures', 'dumped.sql')

const SHOP = `CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'hat'), (2, 'scarf')`

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})
afterAll(async () => {
  const projects = await wharf.container.control.prisma.project.findMany({ where: { ownDatabase: { not: null } } })
  for (const { slug } of projects) await wharf.root.delete(`/projects/${slug}`)
  await wharf.close()
})

const create = (slug: string, stages?: readonly string[], { root }: Pick<TestWharf, 'root'> = wharf) =>
  root.post('/projects', { json: { slug, ownDatabase: true, ...(stages && { stages }) } })

/** What there is of a project's database on the server. */
async function leftOf(name: string): Promise<readonly object[]> {
  return query(
    wharf.database.superuserUrl,
    `SELECT datname::text AS name FROM pg_database WHERE datname = '${name}'
     UNION ALL SELECT rolname::text FROM pg_roles WHERE rolname = '${name}'`,
  )
}

async function databaseOf(slug: string): Promise<string> {
  const { prisma } = wharf.container.control
  return (await prisma.project.findUniqueOrThrow({ where: { slug } })).ownDatabase ?? ''
}

/** The connection URL of a project's login in another database. */
async function urlIn(slug: string, database: string): Promise<string> {
  const url = await loginUrl(wharf, slug)
  url.pathname = `/${database}`
  return url.href
}

test('a project gets a database of its own, in which its first stage is the schema public', async () => {
  const made = await create('alone', ['live', 'preview'])
  expect(made, made.text).toMatchObject({
    status: 201,
    json: {
      slug: 'alone',
      ...{ attached: false, ownDatabase: true },
      stages: [{ slug: 'live' }, { slug: 'preview' }],
    },
  })
  const applied = await applyScript(wharf, 'alone', SHOP)
  expect(applied, applied.text).toMatchObject({ status: 200, json: { tables: 1, id: expect.stringMatching(/-/) } })
  const rows = await query(await urlIn('alone', await databaseOf('alone')), 'SELECT name FROM public.item ORDER BY 1')
  expect(rows).toEqual([{ name: 'hat' }, { name: 'scarf' }])
  const recorded = await wharf.database.query('SELECT sql FROM system.structure_change')
  expect(recorded).toEqual([{ sql: SHOP }])
})

test('a login that is missing is made again at a start, with its database and what belonged to it', async () => {
  await create('lost')
  await applyScript(wharf, 'lost', SHOP)
  const name = await databaseOf('lost')
  const url = Object.assign(new URL(wharf.database.superuserUrl), { pathname: `/${name}` }).href
  await query(
    wharf.database.superuserUrl,
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '${name}'`,
  )
  // As after a restore: all belongs to the login that restored it, and everybody may come in.
  await query(
    url,
    `REASSIGN OWNED BY ${name} TO wharf; DROP OWNED BY ${name}; DROP ROLE ${name}; GRANT CONNECT ON DATABASE ${name} TO PUBLIC`,
  )
  const other = await startWharf({ beside: wharf })
  await other.close()

  expect(await wharf.root.get('/content/lost/live/item?select=name&order=id')).toMatchObject({
    json: [{ name: 'hat' }, { name: 'scarf' }],
  })
  const applied = await applyScript(wharf, 'lost', 'ALTER TABLE item ADD more int; CREATE SCHEMA another')
  expect(applied, applied.text).toMatchObject({ status: 200 })
  const [{ open } = { open: true }] = await query<{ open: boolean }>(
    wharf.database.superuserUrl,
    `SELECT EXISTS (SELECT FROM aclexplode(datacl) WHERE grantee = 0) AS open FROM pg_database WHERE datname = '${name}'`,
  )
  expect(open).toBe(false)
})

test('no other project can enter it, and its login can enter no other', async () => {
  await create('first')
  await create('second')
  await createProject(wharf, 'sharing')
  const [first, second] = [await databaseOf('first'), await databaseOf('second')]
  const shared = new URL(wharf.database.url).pathname.slice(1)
  for (const [slug, database] of [
    ['second', first],
    ['sharing', first],
    ['first', second],
    ['first', shared],
  ] as const) {
    await expect(urlIn(slug, database).then(openSession)).rejects.toThrow(/permission denied for database/)
  }
})

test('its rows go out and come back, replace each other, and an undo brings back what was there', async () => {
  await create('source')
  await applyScript(wharf, 'source', `${SHOP}; CREATE TYPE size AS ENUM ('s', 'l'); ALTER TABLE item ADD size size`)
  const archive = await exportOf(wharf.root, 'source', { system: false })
  await createProject(wharf, 'copy')
  await create('moved')
  for (const slug of ['copy', 'moved']) {
    const imported = await sendArchive(wharf.root, archive, { query: `?targetSlug=${slug}` })
    expect(imported.status, imported.text).toBe(200)
    expect(await contentsOf(wharf, slug)).toEqual(comparableLines(archive))
  }
  await applyScript(wharf, 'moved', `UPDATE item SET name = 'cap'`)
  const changed = await contentsOf(wharf, 'moved')
  const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=moved' })
  expect(imported, imported.text).toMatchObject({ status: 200 })
  expect(await contentsOf(wharf, 'moved')).toEqual(comparableLines(archive))
  const undone = await wharf.root.post('/projects/moved/stages/live/undo?force=true')
  expect(undone.status, undone.text).toBe(200)
  expect(await contentsOf(wharf, 'moved')).toEqual(changed)
})

test('extensions that a script or an archive needs are made there', async () => {
  await create('extended')
  const applied = await applyScript(wharf, 'extended', 'CREATE EXTENSION citext; CREATE TABLE tag (name citext)')
  expect(applied.status, applied.text).toBe(200)
  const archive = await exportOf(wharf.root, 'extended', { system: false })
  await create('extended-copy')
  const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=extended-copy' })
  expect(imported.status, imported.text).toBe(200)
  expect(await contentsOf(wharf, 'extended-copy')).toEqual(comparableLines(archive))
})

test('stages are made and deleted in it', async () => {
  await create('staged')
  const added = await wharf.root.post('/projects/staged/stages', { json: { slug: 'preview' } })
  expect(added, added.text).toMatchObject({ status: 201, json: { slug: 'preview' } })
  await applyScript(wharf, 'staged', SHOP, 'preview')
  const database = await urlIn('staged', await databaseOf('staged'))
  expect(await query(database, 'SELECT id FROM preview.item')).toHaveLength(2)
  expect((await wharf.root.delete('/projects/staged/stages/preview')).status).toBe(204)
  expect(await query(database, "SELECT FROM pg_namespace WHERE nspname = 'preview'")).toEqual([])
  await withSession(database, (client) => client.query('CREATE SCHEMA taken; CREATE TABLE taken.by ()'))
  const taken = await wharf.root.post('/projects/staged/stages', { json: { slug: 'taken' } })
  expect(taken).toMatchObject({ status: 409, json: { detail: expect.stringContaining('not empty') } })
  for (const slug of ['pg_stage', 'information_schema', 'extensions', 'wharf_imports']) {
    const reserved = await wharf.root.post('/projects/staged/stages', { json: { slug } })
    expect(reserved).toMatchObject({ status: 409, json: { detail: expect.stringContaining('reserved') } })
  }
  expect((await wharf.root.get('/projects/staged/stages')).json).toMatchObject({ items: [{ slug: 'live' }] })
})

test('its rows are read over HTTP, and nothing has changed until something is written', async () => {
  await create('served')
  await applyScript(wharf, 'served', SHOP)
  const read = (reference = '') =>
    wharf.root.get('/content/served/live/item?order=id', { headers: { 'x-service-ref': reference } })
  await eventually(async () => (await read((await read()).headers['x-service-ref'])).status).toBe(304)
  const first = await read()
  expect(first.json).toEqual([
    { id: 1, name: 'hat' },
    { id: 2, name: 'scarf' },
  ])
  await applyScript(wharf, 'served', `UPDATE item SET name = 'cap' WHERE id = 1`)
  expect(await read(first.headers['x-service-ref'])).toMatchObject({ status: 200, json: [{ name: 'cap' }, {}] })
  expect(await wharf.root.post('/content/served/live/item', { json: { id: 3 } })).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/is in a database of its own: its rows are only read/) },
  })
})

test('a project that is deleted takes its database and its login with it', async () => {
  await create('gone')
  const name = await databaseOf('gone')
  const client = await openSession(await urlIn('gone', name))
  client.on('error', () => undefined)
  expect((await wharf.root.delete('/projects/gone')).status).toBe(204)
  expect(await leftOf(name)).toEqual([])
  expect((await wharf.root.get('/projects/gone')).status).toBe(404)
  expect((await create('gone')).status).toBe(201)
})

test('a project whose database a superuser is in is not deleted, and can be used', async () => {
  await create('visited')
  await applyScript(wharf, 'visited', SHOP)
  const url = new URL(wharf.database.superuserUrl)
  url.pathname = `/${await databaseOf('visited')}`
  await withSession(url.href, async () => {
    const refused = await wharf.root.delete('/projects/visited')
    expect(refused, refused.text).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining('cannot be dropped') },
    })
  })
  expect(await exportOf(wharf.root, 'visited')).toContain('scarf')
  expect((await wharf.root.delete('/projects/visited')).status).toBe(204)
})

test('a project is deleted though a client of the server reads nothing, and its database as soon as PostgreSQL can', async () => {
  const { control, logger } = wharf.container
  const ownDatabases = createOwnDatabases(control, wharf.database.url, { logger, dropLimitMs: 500 })
  let name = ''
  const reader = await openSession(wharf.database.superuserUrl)
  reader.connection.stream.pause()
  // More than what fits on the way.
  reader.query('SELECT repeat(n::text, 1000) FROM generate_series(1, 100000) n').catch(() => undefined)
  try {
    // As long as there is some room on the way, PostgreSQL gets on.
    await eventually(async () => {
      await create('ended')
      name = await databaseOf('ended')
      await deleteOwnProject({ ...wharf.container, ownDatabases }, await findProject(control.prisma, 'ended'))
      return leftOf(name)
    }).toHaveLength(2)
    expect((await wharf.root.get('/projects/ended')).status).toBe(404)
    expect((await create('ended')).status).toBe(201)
  } finally {
    reader.connection.stream.destroy()
  }
  await control.prisma.project.updateMany({ where: { ownDatabase: name }, data: { createdAt: new Date(0) } })
  await eventually(async () => {
    await sweepOwnProjects(wharf.container)
    return leftOf(name)
  }).toEqual([])
})

const programs = installedPrograms()

test.skipIf(programs === undefined)('a project is deleted while autovacuum is at work in its database', async () => {
  // So slow that it is at work for minutes, in several databases at a time.
  const slow = {
    autovacuum_vacuum_cost_delay: '100ms',
    autovacuum_vacuum_cost_limit: '1',
    autovacuum_max_workers: '10',
  }
  const cluster = await startOwnCluster(programs ?? '', { settings: { autovacuum_naptime: '1s', ...slow } })
  onTestFinished(() => cluster.remove())
  const local = await startWharf({ database: await cluster.createServiceDatabase() })
  onTestFinished(() => local.close())
  await create('swept', undefined, local)
  const script = `CREATE TABLE t AS SELECT n, repeat('x', 500) FROM generate_series(1, 20000) n; DELETE FROM t WHERE n % 2 = 0`
  await applyScript(local, 'swept', script)
  const { ownDatabase } = await local.container.control.prisma.project.findUniqueOrThrow({ where: { slug: 'swept' } })
  const atWork = `SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND datname = '${ownDatabase}'`
  await eventually(() => query(cluster.superuserUrl, atWork)).not.toEqual([])
  const deleted = await local.root.delete('/projects/swept')
  expect(deleted, deleted.text).toMatchObject({ status: 204 })
  expect(await query(cluster.superuserUrl, `SELECT FROM pg_database WHERE datname LIKE 'wharf%'`)).toEqual([])
})

test('what a process left that died while it made a database, or dropped one, is dropped, and nothing else', async () => {
  const { prisma } = wharf.container.control
  await create('kept')
  await create('half-made')
  const name = await databaseOf('half-made')
  const old = new Date(Date.now() - 3_600_000)
  await prisma.project.update({ where: { slug: 'half-made' }, data: { unfinished: true, createdAt: old } })
  await prisma.project.update({ where: { slug: 'kept' }, data: { createdAt: old } })
  expect((await wharf.root.get('/projects/half-made')).status).toBe(404)
  expect(JSON.stringify((await wharf.root.get('/projects')).json)).not.toContain('half-made')
  await prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT FROM control.project WHERE slug = 'half-made' FOR UPDATE`
    expect(await sweepOwnProjects(wharf.container)).toEqual([])
  })
  expect(await sweepOwnProjects(wharf.container)).toEqual(['half-made'])
  expect(await leftOf(name)).toEqual([])
  expect(await leftOf(await databaseOf('kept'))).toHaveLength(2)
})

test('a project that cannot be made leaves no trace', async () => {
  const alone = await startWharfOfLogin('CREATEROLE CREATEDB')
  onTestFinished(() => alone.close())
  expect((await create('refused', ['live', 'pg_x'], alone)).status).toBe(409)
  expect((await create('refused', ['live', 'public'], alone)).status).toBe(409)
  expect(await alone.madeDatabases()).toEqual([])
  expect(await alone.container.control.prisma.project.findMany({ where: { slug: 'refused' } })).toEqual([])
})

test('a login that may not create databases is refused, with the statement that allows it', async () => {
  const modest = await startWharfOfLogin('CREATEROLE')
  onTestFinished(() => modest.close())
  expect(await create('shop', undefined, modest)).toMatchObject({
    status: 500,
    json: { errors: [{ detail: `ALTER ROLE "${modest.login}" CREATEDB` }] },
  })
  expect(await modest.container.control.prisma.project.count()).toBe(0)
})

describe.skipIf(installedCluster() === undefined)('a dump of pg_dump', () => {
  test('stays in public, as it was, and comes back from an archive', async () => {
    const cluster = installedCluster()
    if (!cluster) throw new Error('no PostgreSQL is installed')
    const source = await cluster.createDatabase()
    const local = await startWharf({ database: await cluster.createServiceDatabase() })
    try {
      await query(source.superuserUrl, await readFile(DUMP, 'utf8'))
      const dump = await cluster.dump(source, 'public')
      await create('dumped', undefined, local)
      const applied = await applyScript(local, 'dumped', dump)
      expect(applied.status, applied.text).toBe(200)
      await create('again', undefined, local)
      const archive = await exportOf(local.root, 'dumped', { system: false, grants: true })
      const imported = await sendArchive(local.root, archive, { query: '?targetSlug=again' })
      expect(imported.status, imported.text).toBe(200)
      const { prisma } = local.container.control
      for (const slug of ['dumped', 'again']) {
        const { ownDatabase } = await prisma.project.findUniqueOrThrow({ where: { slug } })
        const superuserUrl = Object.assign(new URL(source.superuserUrl), { pathname: `/${ownDatabase}` }).href
        const own = await cluster.dump({ ...source, superuserUrl }, 'public')
        expect(comparable(own), slug).toEqual(comparable(dump))
        expect((await local.root.delete(`/projects/${slug}`)).status).toBe(204)
      }
    } finally {
      await local.close()
      await source.drop()
    }
  })
})

/** What two dumps have in common: no key of one run, nothing about who owns the schema, and no log of Wharf's. */
const comparable = (dump: string): string[] =>
  dump
    .split('\n')
    .filter(
      (line) => !/^\\(?:un)?restrict |SCHEMA public|wharf_log|^-- Name: |^-- Data for Name: |^(?:--)?$/.test(line),
    )
