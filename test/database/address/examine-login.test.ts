import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { examineLogin, type LoginReport } from '../../../src/database/address/examine-login.ts'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { resolveAddress } from '../../../src/database/address/resolve-address.ts'
import { openSession } from '../../../src/database/session-client.ts'
import { createLogger } from '../../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { installedCluster } from '../../support/servers/installed-cluster.ts'
import { withSession } from '../../support/servers/sessions.ts'

const logger = createLogger('silent')
/** On the one that the system has installed, and on the embedded one, which is newer. */
const installed = installedCluster()
const SERVERS = [
  ['installed', installed?.createDatabase, ''],
  ['embedded', createTestDatabase, ' WITH INHERIT TRUE, SET TRUE'],
] as const

/** Logins are the server's, so that each run has its own. */
const suffix = randomUUID().slice(0, 8)
const PASSWORD = 'p'
const LOGINS = ['reader', 'owner', 'member', 'nothing', 'boss', 'tables', 'guarded'] as const
type LoginName = (typeof LOGINS)[number]
const roleOf = (login: LoginName): string => `${login}_${suffix}`

/** The name of a login stands for that of its role. */
const named = (text: string): string =>
  text.replace(/\b(reader|owner|member|nothing|boss|tables|guarded)_ROLE\b/g, (_, name: LoginName) => roleOf(name))

const MADE = `
  CREATE SCHEMA shop AUTHORIZATION owner_ROLE;
  SET ROLE owner_ROLE;
  CREATE TABLE shop.item (id serial PRIMARY KEY, name text);
  CREATE TABLE shop.sale (id int);
  CREATE TYPE shop.size AS ENUM ('s', 'l');
  CREATE TYPE shop.span AS RANGE (subtype = int);
  CREATE FUNCTION shop.twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';
  CREATE MATERIALIZED VIEW shop.sums AS SELECT count(*) FROM shop.item;
  RESET ROLE;
  GRANT USAGE ON SCHEMA shop TO reader_ROLE;
  GRANT SELECT ON ALL TABLES IN SCHEMA shop TO reader_ROLE;
  GRANT SELECT ON ALL SEQUENCES IN SCHEMA shop TO reader_ROLE;
  GRANT owner_ROLE TO member_ROLE;
  CREATE SCHEMA mixed AUTHORIZATION boss_ROLE;
  CREATE TABLE mixed.theirs ();
  CREATE TABLE mixed."Own ed" ();
  ALTER TABLE mixed."Own ed" OWNER TO tables_ROLE;
  CREATE VIEW mixed.of_superuser AS SELECT 1 AS one;
  CREATE TYPE mixed.pair AS (a int, b int);
  ALTER TABLE mixed.theirs OWNER TO tables_ROLE;
  GRANT USAGE ON SCHEMA mixed TO tables_ROLE;
  CREATE SCHEMA guarded AUTHORIZATION guarded_ROLE;
  CREATE TABLE guarded.secret (id int);
  ALTER TABLE guarded.secret ENABLE ROW LEVEL SECURITY;
  GRANT SELECT ON guarded.secret TO guarded_ROLE;
  CREATE SCHEMA extended AUTHORIZATION owner_ROLE;
  CREATE EXTENSION hstore SCHEMA extended;
`

describe.each(SERVERS)('what a login may do with a schema on the %s PostgreSQL', (_, createDatabase, membership) => {
  if (!createDatabase) return test.skip('none is installed')

  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase()
    await withSession(database.superuserUrl, async (client) => {
      for (const login of LOGINS) await client.query(`CREATE ROLE ${roleOf(login)} LOGIN PASSWORD '${PASSWORD}'`)
      await client.query(named(MADE))
    })
  })
  afterAll(async () => {
    await withSession(database.superuserUrl, async (client) => {
      for (const login of LOGINS)
        await client.query(`DROP OWNED BY ${roleOf(login)} CASCADE; DROP ROLE ${roleOf(login)}`)
    })
    await database.drop()
  })

  const databaseName = (): string => new URL(database.url).pathname.slice(1)

  async function examine(role: string, schema: string): Promise<LoginReport> {
    const url = new URL(role === 'wharf' ? database.url : database.superuserUrl)
    if (role !== 'wharf' && role !== 'postgres') Object.assign(url, { username: role, password: PASSWORD })
    const { first } = await resolveAddress(parsePostgresAddress(`${url.href}?sslmode=disable`))
    const client = await openSession(first, { kind: 'attached', applicationName: 'test', logger })
    try {
      return await examineLogin(async (sql, parameters) => (await client.query(sql, [...parameters])).rows, schema)
    } finally {
      await client.end()
    }
  }

  const asSuperuser = (sql: string) => withSession(database.superuserUrl, (client) => client.query(named(sql)))

  test('one that may read exports, and is told what an import needs', async () => {
    const report = await examine(roleOf('reader'), 'shop')
    expect(report).toMatchObject({
      login: roleOf('reader'),
      isSuperuser: false,
      schemaExists: true,
      schemaOwner: roleOf('owner'),
      ownsSchema: false,
      mayCreateInSchema: false,
      mayCreateSchemas: false,
      tablesNotReadable: [],
      extensionsInSchema: [],
      mayExport: true,
      mayImport: 'no',
    })
    expect(report.version).toMatch(/^\d+/)
    expect(report.tablesNotOwned).toContainEqual({ name: 'item', owner: roleOf('owner'), isMember: false })
    expect(report.objectsNotOwned.map(({ type }) => type)).toEqual([
      'function',
      'materialized view',
      'sequence',
      'table',
      'table',
      'type',
      'type',
    ])
    expect(report.missing).toEqual([
      `GRANT CREATE ON DATABASE "${databaseName()}" TO "${roleOf('reader')}"`,
      `GRANT CREATE ON SCHEMA "shop" TO "${roleOf('reader')}"`,
      `GRANT "${roleOf('owner')}" TO "${roleOf('reader')}"${membership}`,
    ])
  })

  test('the owner imports in place, and beside it once it may create schemas; so does a member', async () => {
    for (const login of ['owner', 'member'] as const) {
      const report = await examine(roleOf(login), 'shop')
      expect(report, login).toMatchObject({ ownsSchema: true, mayExport: true, mayImport: 'in place' })
      const missing = `GRANT CREATE ON DATABASE "${databaseName()}" TO "${roleOf(login)}"`
      expect(report.missing).toEqual([missing])
      await asSuperuser(missing)
      expect(await examine(roleOf(login), 'shop')).toMatchObject({ mayImport: 'beside', reasons: [], missing: [] })
      await asSuperuser(missing.replace('GRANT', 'REVOKE').replace(' TO ', ' FROM '))
    }
  })

  test('one that was granted nothing may do nothing, and everything once it was granted what is missing', async () => {
    const report = await examine(roleOf('nothing'), 'shop')
    expect(report).toMatchObject({
      mayExport: false,
      mayImport: 'no',
      tablesNotReadable: ['item', 'item_id_seq', 'sale'],
    })
    expect(report.missing.slice(0, 3)).toEqual([
      `GRANT USAGE ON SCHEMA "shop" TO "${roleOf('nothing')}"`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA "shop" TO "${roleOf('nothing')}"`,
      `GRANT SELECT ON SEQUENCE "shop"."item_id_seq" TO "${roleOf('nothing')}"`,
    ])
    for (const statement of report.missing) await asSuperuser(statement)
    expect(await examine(roleOf('nothing'), 'shop')).toMatchObject({ mayExport: true, mayImport: 'beside' })
  })

  test.runIf(membership !== '')('a member who may not become the owner cannot give anything back to him', async () => {
    await asSuperuser(`GRANT owner_ROLE TO boss_ROLE WITH INHERIT TRUE, SET FALSE`)
    await asSuperuser(`GRANT CREATE ON DATABASE ${databaseName()} TO boss_ROLE`)
    const report = await examine(roleOf('boss'), 'shop')
    expect(report).toMatchObject({ ownsSchema: true, mayImport: 'in place' })
    expect(report.missing).toEqual([`GRANT "${roleOf('owner')}" TO "${roleOf('boss')}"${membership}`])
    for (const statement of report.missing) await asSuperuser(statement)
    expect(await examine(roleOf('boss'), 'shop')).toMatchObject({ mayImport: 'beside', missing: [] })
  })

  test('a superuser may do everything', async () => {
    expect(await examine('postgres', 'shop')).toMatchObject({ isSuperuser: true, mayExport: true, mayImport: 'beside' })
    expect(await examine('postgres', 'missing')).toMatchObject({
      schemaExists: false,
      mayExport: false,
      mayImport: 'beside',
    })
  })

  test('what is in the schema of all databases changes places object by object', async () => {
    const report = await examine('wharf', 'public')
    expect(report).toMatchObject({ schemaOwner: 'pg_database_owner', ownsSchema: true, mayImport: 'object by object' })
    expect(report.reasons).toEqual(['the schema public belongs to the database'])
  })

  test('a schema with extensions is not moved, and what is theirs counts for nobody', async () => {
    await asSuperuser(`GRANT CREATE ON DATABASE ${databaseName()} TO owner_ROLE`)
    onTestFinished(async () => {
      await asSuperuser(`REVOKE CREATE ON DATABASE ${databaseName()} FROM owner_ROLE`)
    })
    expect(await examine(roleOf('owner'), 'extended')).toMatchObject({
      extensionsInSchema: ['hstore'],
      objectsNotOwned: [],
      mayExport: true,
      mayImport: 'object by object',
      reasons: ['the schema has extensions: hstore'],
    })
  })

  test('the owner of all tables loads them in place, and others own the rest', async () => {
    const report = await examine(roleOf('tables'), 'mixed')
    expect(report).toMatchObject({ ownsSchema: false, mayExport: true, mayImport: 'in place', tablesNotOwned: [] })
    expect(report.missing).toEqual([
      `GRANT CREATE ON DATABASE "${databaseName()}" TO "${roleOf('tables')}"`,
      `GRANT CREATE ON SCHEMA "mixed" TO "${roleOf('tables')}"`,
      `ALTER TYPE mixed.pair OWNER TO "${roleOf('tables')}" -- by a superuser`,
      `ALTER VIEW mixed.of_superuser OWNER TO "${roleOf('tables')}" -- by a superuser`,
    ])
    for (const statement of report.missing) await asSuperuser(statement)
    expect(await examine(roleOf('tables'), 'mixed')).toMatchObject({ mayImport: 'object by object' })
  })

  test('tables whose rows are hidden from a login are not exported by it', async () => {
    const report = await examine(roleOf('guarded'), 'guarded')
    expect(report).toMatchObject({ tablesNotReadable: [], tablesWithHiddenRows: ['secret'], mayExport: false })
    expect(report.missing).toContain(`ALTER ROLE "${roleOf('guarded')}" BYPASSRLS -- by a superuser`)
    await asSuperuser(`ALTER ROLE guarded_ROLE BYPASSRLS`)
    expect(await examine(roleOf('guarded'), 'guarded')).toMatchObject({ mayExport: true, tablesWithHiddenRows: [] })
  })

  test('a login whose transactions are read only imports nothing', async () => {
    const setting = `ALTER ROLE ${roleOf('owner')} IN DATABASE ${databaseName()} SET default_transaction_read_only`
    await asSuperuser(`${setting} = on`)
    onTestFinished(async () => {
      await asSuperuser(`${setting} = off`)
    })
    const report = await examine(roleOf('owner'), 'shop')
    expect(report).toMatchObject({ mayExport: true, mayImport: 'no' })
    for (const statement of report.missing) await asSuperuser(statement)
    expect(await examine(roleOf('owner'), 'shop')).toMatchObject({ mayImport: 'in place' })
  })
})
