import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { proveCommand } from '../../src/data-folder/command-proof.ts'
import { readProofSecret } from '../../src/data-folder/service-proof.ts'
import { logStages } from '../../src/events/log-stages.ts'
import { recordCrash } from '../../src/events/record-crash.ts'
import { findProject } from '../../src/projects/projects.ts'
import { sweepShadowSchemas } from '../../src/transfer/import/shadow-schemas.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { hasPgBouncer, startPgBouncer } from '../support/servers/pgbouncer.ts'
import { openSession, query } from '../support/servers/sessions.ts'
import { startTcpRelay } from '../support/servers/tcp-relay.ts'
import { MAY_ATTACH } from '../support/service/attached-location.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const SHOP = `CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'hat'), (2, 'scarf');
  CREATE SCHEMA sales; CREATE TABLE sales.deal (id int PRIMARY KEY)`

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(SHOP)
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const LIVE = [{ slug: 'live', schema: 'public' }]

const attach = (slug: string, address: URL | string = external.owner, stages = LIVE): Promise<ApiAnswer> =>
  wharf.root.post('/projects', { json: { slug, attach: { address: String(address), stages } } })

async function attached(slug: string, address?: URL | string, stages?: typeof LIVE): Promise<void> {
  const answer = await attach(slug, address, stages)
  expect(answer.status, answer.text).toBe(201)
}

const detach = async (slug: string): Promise<void> => {
  expect((await wharf.root.delete(`/projects/${slug}/attachment`)).status).toBe(204)
}

/** A row for each pair of a schema and a table of the database. */
const tablesOf = ({ database }: ExternalDatabase): Promise<object[]> =>
  database.query("SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'sales') ORDER BY 1, 2")

test('a project is attached, shown without its password, and detached, and its database stays as it is', async () => {
  const before = await tablesOf(external)
  const made = await attach('shop')
  expect(made).toMatchObject({
    status: 201,
    json: { slug: 'shop', attached: true, stages: [{ slug: 'live', schema: 'public' }] },
  })
  const shown = await wharf.root.get('/projects/shop/attachment')
  const { host, pathname, username } = external.owner
  expect(shown.json).toMatchObject({ name: `postgres://${username}@${host}${pathname}`, login: username })
  expect(made.text + shown.text).not.toContain(external.password)
  expect((await wharf.root.get('/projects/shop/roles')).json).toMatchObject({ items: { length: 4 } })
  await detach('shop')
  expect((await wharf.root.get('/projects/shop')).status).toBe(404)
  expect(await tablesOf(external)).toEqual(before)
  const left = await wharf.database.query('SELECT FROM system.stage_state WHERE schema_name IS NULL')
  expect(left).toEqual([])
})

test.each<[what: string, address: (url: URL) => URL | string, status: number, detail: RegExp]>([
  [
    'another password',
    (url) => Object.assign(url, { password: 'other' }),
    502,
    /refuses the login|authentication failed/,
  ],
  ['a database that is not there', (url) => Object.assign(url, { pathname: '/nowhere' }), 502, /nowhere/],
  ['a host that is not listed', (url) => Object.assign(url, { hostname: 'db.example' }), 403, /WHARF_TRANSFER_HOSTS/],
  ['a port where nothing listens', (url) => Object.assign(url, { port: '1' }), 403, /WHARF_TRANSFER_HOSTS/],
  ['no password', (url) => Object.assign(url, { password: '' }), 502, /asks for a password, and the address has none/],
  ['a parameter that libpq does not know', (url) => `${url}?unknown=1`, 400, /not have the expected form/],
  ['a Unix socket', () => 'postgres://app@/app?host=/var/run/postgresql', 400, /not have the expected form/],
  ['a file of the server', (url) => `${url}?sslrootcert=/etc/passwd`, 400, /not have the expected form/],
  ['no address', () => 'shop', 400, /not have the expected form/],
])('%s is refused, and nothing of the address is quoted but its name', async (_what, address, status, detail) => {
  const answer = await attach('refused', address(new URL(external.owner)))
  expect(answer).toMatchObject({ status, json: { detail: expect.stringMatching(detail) } })
  expect(answer.text).not.toContain(external.password)
  expect((await wharf.root.get('/projects/refused')).status).toBe(404)
})

test.skipIf(!hasPgBouncer)(
  'PgBouncer in transaction mode is refused and named, in session mode it is not',
  async () => {
    for (const [mode, status] of [
      ['transaction', 502],
      ['session', 201],
    ] as const) {
      const pooler = await startPgBouncer(external.owner.href, mode)
      const local = await startWharf({ beside: wharf, environment: { WHARF_TRANSFER_HOSTS: new URL(pooler.url).host } })
      try {
        const address = pooler.url.replace(/^postgresql:/, 'postgres:')
        const answer = await local.root.post('/projects', {
          json: { slug: 'pooled', attach: { address, stages: LIVE } },
        })
        expect(answer, answer.text).toMatchObject({ status })
        if (status === 502) expect(answer.text).toContain('PgBouncer')
        else await detach('pooled')
      } finally {
        await local.close()
        await pooler.end()
      }
    }
  },
)

test('detaching waits for what has a stage for a moment, as a sweep does, and for nothing longer', async () => {
  await attach('shop')
  const session = await openSession(wharf.database.superuserUrl)
  try {
    await session.query(`BEGIN; SELECT FROM system.stage_lock WHERE kind = 'import' FOR UPDATE`)
    expect(await wharf.root.delete('/projects/shop/attachment')).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining('something is being imported into it') },
    })
    const detaching = detach('shop')
    await eventually(() =>
      wharf.database.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%stage_lock%'`),
    ).toHaveLength(1)
    await session.query('COMMIT')
    await detaching
  } finally {
    await session.end()
  }
})

test("a host that is not listed is reached for who can read the service's data folder, and for this address only", async () => {
  const closed = await startWharf({ beside: wharf, environment: { WHARF_TRANSFER_HOSTS: '' } })
  try {
    const address = external.owner.href
    const ask = (headers: Record<string, string>): Promise<ApiAnswer> =>
      closed.root.post('/projects', { headers, json: { slug: 'proven', attach: { address, stages: LIVE } } })
    const secret = await readProofSecret(wharf.dataDir)
    expect((await ask({})).status).toBe(403)
    expect((await ask({ 'wharf-command-proof': proveCommand(secret, `${address}?`) })).status).toBe(403)
    expect((await ask({ 'wharf-command-proof': proveCommand(`${secret}x`, address) })).status).toBe(403)
    expect((await ask({ 'wharf-command-proof': proveCommand(secret, address) })).status).toBe(201)
    // What was proven once holds for every later connection.
    expect((await closed.root.get('/projects/proven/attachment')).status).toBe(200)
  } finally {
    await detach('proven')
    await closed.close()
  }
})

test('a host that is taken from the list is not connected to any more', async () => {
  await attached('shop')
  const closed = await startWharf({ beside: wharf, environment: { WHARF_TRANSFER_HOSTS: '' } })
  try {
    expect(await closed.root.get('/projects/shop/attachment')).toMatchObject({ status: 403 })
  } finally {
    await closed.close()
    await detach('shop')
  }
})

test("Wharf's own database is not attached, by whatever name", async () => {
  const own = new URL(wharf.database.url)
  own.protocol = 'postgres:'
  expect(await attach('self', own)).toMatchObject({
    status: 409,
    json: { detail: expect.stringContaining("is Wharf's own database") },
  })
})

test('a schema is a stage of one project only, and a missing one is named with those that there are', async () => {
  await attached('shop')
  try {
    expect(await attach('twin', external.reader)).toMatchObject({
      status: 409,
      json: { detail: 'the schema "public" of this database is stage "live" of project "shop" already' },
    })
    await attached('sales', external.owner, [{ slug: 'live', schema: 'sales' }])
    expect(await attach('third', external.owner, [{ slug: 'live', schema: 'nowhere' }])).toMatchObject({
      status: 409,
      json: { detail: expect.stringMatching(/has no schema "nowhere" that can be a stage; it has "public", "sales"$/) },
    })
    await detach('sales')
    const { root } = wharf
    expect((await root.post('/projects/shop/stages', { json: { slug: 'sales' } })).json).toMatchObject({
      type: 'urn:wharf:error:attached-project',
      detail: expect.stringContaining('stage:attach'),
    })
    const stage = { slug: 'sales', schema: 'sales' }
    expect(await root.post('/projects/shop/stages', { json: stage })).toMatchObject({ status: 201, json: stage })
    expect((await root.post('/projects/shop/stages', { json: { ...stage, slug: 'again' } })).status).toBe(409)
    expect((await root.delete('/projects/shop/stages/sales')).status).toBe(204)
    expect((await root.get('/projects/shop/stages')).json).toMatchObject({ items: [{ slug: 'live' }] })
  } finally {
    await detach('shop')
  }
  expect(await tablesOf(external)).toHaveLength(2)
})

test('an address is changed, and sessions of the old login are given up', async () => {
  await attached('shop')
  const sessions = async (url: URL): Promise<number> => {
    const found = external.database.query('SELECT FROM pg_stat_activity WHERE usename = $1', [url.username])
    return (await found).length
  }
  try {
    expect((await wharf.root.get('/projects/shop/attachment')).json).toMatchObject({ login: external.owner.username })
    expect(await sessions(external.owner)).toBe(1)
    const json = { address: external.reader.href }
    expect((await wharf.root.put('/projects/shop/attachment', { json })).status).toBe(200)
    expect((await wharf.root.get('/projects/shop/attachment')).json).toMatchObject({ login: external.reader.username })
    await expect.poll(() => sessions(external.owner)).toBe(0)
    expect(await findProject(wharf.container.control.prisma, 'shop')).toMatchObject({ login: external.reader.username })
  } finally {
    await detach('shop')
  }
})

test('what an attached project cannot have is refused by name, and changes nothing', async () => {
  await attached('shop')
  try {
    const { root } = wharf
    const refused = { status: 409, json: { type: 'urn:wharf:error:attached-project' } }
    const rows = { json: [{ id: 3, name: 'sock' }] }
    for (const [what, answer] of Object.entries({
      overview: await root.get('/content/shop/live'),
      rows: await root.get('/content/shop/live/item'),
      writes: await root.post('/content/shop/live/item', rows),
      structure: await applyScript(wharf, 'shop', 'DROP TABLE item'),
      stage: await root.post('/projects/shop/stages', { json: { slug: 'draft' } }),
      deletion: await root.delete('/projects/shop'),
    })) {
      expect(answer, what).toMatchObject(refused)
    }
    const viewer = await wharf.member('shop', 'viewer')
    expect((await viewer.get('/content/shop/live/item')).status).toBe(409)
    expect((await viewer.get('/projects/shop/attachment')).status).toBe(403)
    await createProject(wharf, 'hosted')
    expect((await root.delete('/projects/hosted/attachment')).status).toBe(409)
    expect((await root.get('/projects/hosted/attachment')).status).toBe(409)
    expect((await root.delete('/projects/hosted')).status).toBe(204)
    expect(await query(external.owner.href, 'SELECT count(*)::int AS rows FROM item')).toEqual([{ rows: 2 }])
  } finally {
    await detach('shop')
  }
})

test("a login that is called like another project's own does nothing to that project, nor meets its pool", async () => {
  await createProject(wharf, 'hosted', 'CREATE TABLE own (n int); INSERT INTO own VALUES (7)')
  const url = await loginUrl(wharf, 'hosted')
  const login = decodeURIComponent(url.username)
  // The same role, seen from another database: as it would be on another server.
  await attached('namesake', Object.assign(new URL(external.owner), { username: login, password: url.password }))
  const session = await openSession(url.href)
  try {
    const { container, root } = wharf
    const databaseOf = async (slug: string): Promise<unknown> => {
      const project = await findProject(container.control.prisma, slug)
      const found = await container.projectDatabase(project, 'exports')
      expect(found.login).toBe(login)
      const [row] = (await found.database.pool.query('SELECT current_database() AS name')).rows
      return row.name
    }
    const names = [new URL(wharf.database.url), external.owner].map(({ pathname }) => pathname.slice(1))
    expect([await databaseOf('hosted'), await databaseOf('namesake')]).toEqual(names)
    expect((await root.delete('/projects/namesake')).status).toBe(409)
    await root.put('/projects/namesake/attachment', { json: { address: external.reader.href } })
    await detach('namesake')
    // Neither ended, nor closed, nor dropped.
    expect((await session.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    expect(await databaseOf('hosted')).toBe(names[0])
    expect((await root.get('/content/hosted/live/own')).json).toEqual([{ n: 7 }])
  } finally {
    await session.end()
    expect((await wharf.root.delete('/projects/hosted')).status).toBe(204)
  }
})

test('sweeps, limits and the making of logs leave attached stages alone', async () => {
  await attached('shop')
  try {
    const { container } = wharf
    await logStages(container)
    await sweepShadowSchemas(container, container.logger)
    await container.room.limitOfNew()
    await recordCrash(container.system.pool)
    const triggers = await query(external.owner.href, "SELECT tgname FROM pg_trigger WHERE tgname LIKE 'wharf%'")
    expect(triggers).toEqual([])
    const [state] = await wharf.database.query<{ login: string; own: string }>(
      'SELECT login, current_user AS own FROM system.stage_state WHERE schema_name IS NULL',
    )
    expect(state?.login).toBe(state?.own)
  } finally {
    await detach('shop')
  }
})

test('detaching drops what imports have left, and is refused where that cannot be reached, or is of another login', async () => {
  await attached('shop')
  const [stage] = await wharf.database.query<{ id: string }>(
    "SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = 'shop'",
  )
  // As imports leave them: what one replaced, and what it wrote down.
  await external.run(
    `CREATE SCHEMA wharf_old_1 CREATE TABLE item (id int); CREATE SCHEMA wharf_imports CREATE TABLE done ()`,
  )
  await wharf.database.query(
    `INSERT INTO system.side_schema (schema_name, stage_id, kind) VALUES ('wharf_old_1', $1, 'kept')`,
    [stage?.id],
  )
  const closed = await startWharf({ beside: wharf, environment: { WHARF_TRANSFER_HOSTS: '' } })
  try {
    expect((await closed.root.delete('/projects/shop/attachment')).status).toBe(403)
    expect((await closed.root.get('/projects/shop')).status).toBe(200)
  } finally {
    await closed.close()
  }
  const schemas = () => query(external.owner.href, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'wharf%'")
  expect(await schemas()).toHaveLength(2)
  const changeTo = async ({ href: address }: URL): Promise<void> => {
    expect((await wharf.root.put('/projects/shop/attachment', { json: { address } })).status).toBe(200)
  }
  await changeTo(external.reader)
  const mustNot = { status: 409, json: { detail: expect.stringContaining('must be owner of schema wharf_old_1') } }
  expect(await wharf.root.delete('/projects/shop/attachment')).toMatchObject(mustNot)
  expect(await wharf.root.delete('/projects/shop/stages/live/undo')).toMatchObject(mustNot)
  await changeTo(external.owner)
  expect(await schemas()).toHaveLength(2)
  await detach('shop')
  expect(await schemas()).toEqual([])
})

test('a project whose database is gone is detached by force, and without where nothing was imported', async () => {
  const gone = await createExternalDatabase('CREATE TABLE item (id int)')
  for (const slug of ['never', 'forced']) {
    if (slug === 'forced') await gone.run('CREATE SCHEMA other CREATE TABLE item (id int)')
    await attached(slug, gone.owner, [{ slug: 'live', schema: slug === 'forced' ? 'other' : 'public' }])
  }
  await wharf.database.query(
    `INSERT INTO system.side_schema (schema_name, stage_id, kind)
     SELECT 'wharf_old_2', stage.id, 'kept' FROM control.stage JOIN control.project ON project.id = project_id
      WHERE project.slug = 'forced'`,
  )
  await gone.drop()
  const { root } = wharf
  expect(await root.get('/projects/forced/attachment')).toMatchObject({
    status: 502,
    json: { type: 'urn:wharf:error:attached-failed' },
  })
  await detach('never')
  expect((await root.delete('/projects/forced/attachment')).status).toBe(502)
  expect((await root.delete('/projects/forced/attachment?force=true')).status).toBe(204)
})

test('a database that is lost while it is looked at is named, and it is not said to be the one of Wharf', async () => {
  let isBroken = false
  const relay = await startTcpRelay(external.owner.href, (breakOff) => ({
    asks(chunk) {
      if (isBroken && chunk.includes('pg_identify_object')) breakOff()
      return true
    },
    answers: () => true,
  }))
  onTestFinished(() => relay.cut())
  const address = new URL(external.owner)
  address.port = new URL(relay.url).port
  const other = await startWharf({ environment: MAY_ATTACH })
  onTestFinished(() => other.close())
  const json = { slug: 'lost', attach: { address: address.href, stages: LIVE } }
  expect((await other.root.post('/projects', { json })).status).toBe(201)
  isBroken = true
  const seen = await other.root.get('/projects/lost/attachment')
  expect(seen, seen.text).toMatchObject({
    status: 502,
    json: { detail: expect.stringMatching(/the connection to postgres:.* was lost$/) },
  })
  expect(seen.headers['retry-after']).toBe('30')
})

test('of a database without an encoding, a name that is not UTF-8 is what the look at it says', async () => {
  const address = new URL(external.owner)
  address.pathname = `${address.pathname}_names`
  const name = address.pathname.slice(1)
  await query(
    external.database.superuserUrl,
    `CREATE DATABASE ${name} OWNER ${address.username} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'`,
  )
  await query(address.href, `DO $$ BEGIN EXECUTE E'CREATE SCHEMA names; CREATE TABLE names."n\\xff" ()'; END $$`)
  await attached('names', address, [{ slug: 'live', schema: 'names' }])
  const seen = await wharf.root.get('/projects/names/attachment')
  expect(seen, seen.text).toMatchObject({
    status: 409,
    json: {
      detail: expect.stringMatching(
        /a name in schema "names" has text that PostgreSQL cannot give as UTF-8.*: rename it/,
      ),
    },
  })
  await detach('names')
  await query(external.database.superuserUrl, `DROP DATABASE ${name} WITH (FORCE)`)
})
