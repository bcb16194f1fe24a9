import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { schemaSql } from '../../scripts/schema-engine.ts'
import { migrate } from '../../src/database/migrations.ts'
import { prepareDatabase } from '../../src/database/preparation.ts'
import { createLogger } from '../../src/logger.ts'
import { readVersion } from '../../src/version.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { createReleasedDatabase } from '../support/database/released-database.ts'
import { withSession } from '../support/servers/sessions.ts'

const logger = createLogger('silent')
const databases: TestDatabase[] = []

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  databases.push(database)
  return database
}

afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop()
})

/** Everything that a Prisma schema can say of tables. */
const CATALOGS = [
  `SELECT table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type, udt_name,
          character_maximum_length, numeric_precision, datetime_precision, is_identity, is_generated
   FROM information_schema.columns WHERE table_schema IN ('control', 'system') ORDER BY 1, 2, 3`,
  `SELECT schemaname, tablename, indexname, indexdef FROM pg_indexes WHERE schemaname IN ('control', 'system') ORDER BY 1, 2, 3`,
  `SELECT connamespace::regnamespace::text AS schema, conrelid::regclass::text AS "table", conname, pg_get_constraintdef(oid) AS definition
   FROM pg_constraint WHERE contype <> 't' AND connamespace IN ('control'::regnamespace, 'system'::regnamespace) ORDER BY 1, 2, 3`,
]

test('the migrations build just what schema.prisma describes', async () => {
  const [migrated, described] = [await emptyDatabase(), await emptyDatabase()]
  await migrate(migrated.url, { logger })
  await described.query(await schemaSql(described.url, createLogger('silent')))
  for (const catalog of CATALOGS) {
    const rows = await migrated.query(catalog)
    expect(rows.length).toBeGreaterThan(8)
    expect(rows).toEqual(await described.query(catalog))
  }
})

test('of several processes that start at once one migrates, and the others wait for it', async () => {
  const database = await emptyDatabase()
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, { logger })))
  const folders = (await readdir(new URL('../../prisma/migrations', import.meta.url), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  expect(applied.filter((names) => names.length > 0)).toEqual([folders.toSorted()])
  const rows = await database.query<{ name: string; steps: number }>(
    'SELECT migration_name AS name, applied_steps_count AS steps FROM public._prisma_migrations ORDER BY 1',
  )
  expect(rows).toEqual(folders.toSorted().map((name) => ({ name, steps: 1 })))
})

test('a second start applies nothing and changes nothing', async () => {
  const database = await emptyDatabase()
  await prepareDatabase(database.url, { logger })
  const kept = 'SELECT id, finished_at FROM public._prisma_migrations ORDER BY 1'
  const before = await database.query(kept)
  await prepareDatabase(database.url, { logger })
  expect(await migrate(database.url, { logger })).toEqual([])
  expect(await database.query(kept)).toEqual(before)
})

test('a migration that another version began and did not end is run again', async () => {
  const database = await createReleasedDatabase()
  databases.push(database)
  await database.query(
    `INSERT INTO public._prisma_migrations (id, checksum, migration_name, logs)
     VALUES ('1', '', '20261121151000_row_locks', 'canceling statement due to lock timeout')`,
  )
  expect(await migrate(database.url, { logger })).toContain('20261121151000_row_locks')
  expect(await migrate(database.url, { logger })).toEqual([])
  expect(await database.query('SELECT FROM public._prisma_migrations WHERE finished_at IS NULL')).toEqual([])
})

test("a transaction that is no project's is waited for and named, and the next start goes on from there", async () => {
  const database = await createReleasedDatabase()
  databases.push(database)
  await withSession(database.superuserUrl, async (session) => {
    await session.query(`SET application_name = 'backup'; BEGIN; LOCK TABLE system.event IN ACCESS SHARE MODE`)
    await expect(migrate(database.url, { logger, patienceMs: 1_000, endAfterMs: 0 })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringMatching(/imported_events.* of "postgres" \("backup"\)/),
    })
    await session.query('COMMIT')
  })
  expect(await migrate(database.url, { logger })).toContain('20261121154000_imported_events')
  expect(await migrate(database.url, { logger })).toEqual([])
})

test("a database with tables of another program's in a schema that Wharf needs is refused", async () => {
  const database = await emptyDatabase()
  await database.query('CREATE SCHEMA control; CREATE TABLE control.point (x integer)')
  await expect(migrate(database.url, { logger })).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message: expect.stringContaining('"control"'),
  })
})

test('only logins that were granted it can connect to a database that has been prepared', async () => {
  const database = await emptyDatabase()
  await prepareDatabase(database.url, { logger })
  const grants = await database.query(
    `SELECT FROM pg_database, aclexplode(datacl) WHERE datname = current_database() AND grantee = 0`,
  )
  expect(grants).toEqual([])
})

test('nobody but those who were granted it can make things in the schema public of a prepared database', async () => {
  const database = await emptyDatabase()
  await withSession(database.superuserUrl, (session) => session.query('GRANT CREATE ON SCHEMA public TO PUBLIC'))
  await prepareDatabase(database.url, { logger })
  const grants = await database.query(
    `SELECT FROM pg_namespace, aclexplode(nspacl)
     WHERE nspname = 'public' AND grantee = 0 AND privilege_type = 'CREATE'`,
  )
  expect(grants).toEqual([])
})

test('processes that start at once on a database that any login may enter all close it', async () => {
  const database = await emptyDatabase()
  await migrate(database.url, { logger })
  const starts = Array.from({ length: 8 }, () => prepareDatabase(database.url, { logger }))
  await expect(Promise.all(starts)).resolves.toHaveLength(8)
})

/** Brings a database up to the migration before one, by hand: what a start then finds is an older version's. */
async function migrateUpTo(database: TestDatabase, name: string): Promise<void> {
  const folder = new URL('../../prisma/migrations/', import.meta.url)
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  expect(names).toContain(name)
  const earlier = names.toSorted().filter((each) => each < name)
  await migrate(database.url, { logger })
  await withSession(database.url, async (session) => {
    await session.query('DROP SCHEMA control, system, wharf CASCADE')
    for (const each of earlier) {
      await session.query(await readFile(new URL(`${each}/migration.sql`, folder), 'utf8'))
    }
    await session.query('DELETE FROM public._prisma_migrations WHERE NOT migration_name = ANY ($1)', [earlier])
  })
}

test('roles that could build a stage from an archive by default keep the right to, and no others get it', async () => {
  const database = await emptyDatabase()
  await migrateUpTo(database, '20261121153000_content_structure')
  await withSession(database.url, async (session) => {
    const project = randomUUID()
    await session.query(`INSERT INTO control.project (id, slug, login, sealed_password) VALUES ($1, 'p', 'p', '')`, [
      project,
    ])
    for (const [name, canImport] of [
      ['admin', true],
      ['content_admin', true],
      ['editor', false],
      ['own', true],
    ]) {
      await session.query(`INSERT INTO control.role (id, project_id, name, content_import) VALUES ($1, $2, $3, $4)`, [
        randomUUID(),
        project,
        name,
        canImport,
      ])
    }
  })
  expect(await migrate(database.url, { logger })).toContain('20261121153000_content_structure')
  const roles = await database.query('SELECT name, content_structure AS structure FROM control.role ORDER BY name')
  expect(roles).toEqual([
    { name: 'admin', structure: true },
    { name: 'content_admin', structure: true },
    { name: 'editor', structure: false },
    { name: 'own', structure: false },
  ])
})

test('a database in which Wharf may not create tables is refused, naming the grants', async () => {
  const database = await emptyDatabase()
  const [{ name } = { name: '' }] = await database.query<{ name: string }>('SELECT current_database() AS name')
  const url = new URL(database.superuserUrl)
  await withSession(url.href, async (session) => {
    await session.query(`CREATE ROLE "no rights ${name}" LOGIN PASSWORD 'none'`)
    await session.query(`GRANT CONNECT ON DATABASE ${name} TO "no rights ${name}"`)
  })
  url.username = encodeURIComponent(`no rights ${name}`)
  url.password = 'none'
  await expect(prepareDatabase(url.href, { logger })).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message: expect.stringContaining(`GRANT CREATE ON DATABASE "${name}" TO "no rights ${name}"`),
  })
  await withSession(database.superuserUrl, async (session) => {
    await session.query(`REVOKE ALL ON DATABASE ${name} FROM "no rights ${name}"`)
    await session.query(`DROP ROLE "no rights ${name}"`)
  })
})

test('a database that a newer version has migrated is refused, before anything is done', async () => {
  const database = await emptyDatabase()
  await prepareDatabase(database.url, { logger })
  await database.query(
    `INSERT INTO public._prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
     VALUES ('newer', '', now(), '20990101000000_of_a_newer_version', 1)`,
  )
  const folders = (await readdir(new URL('../../prisma/migrations', import.meta.url))).filter((name) =>
    /^\d/.test(name),
  )
  await database.query('DROP SCHEMA extensions')
  await expect(prepareDatabase(database.url, { logger })).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message:
      'a newer version of Wharf has migrated this database, up to 20990101000000_of_a_newer_version, and this one, ' +
      `${readVersion()}, knows migrations up to ${folders.toSorted().at(-1)}: start the newer version, or restore a backup ` +
      'from before the upgrade',
  })
  expect(await database.query(`SELECT FROM pg_namespace WHERE nspname = 'extensions'`)).toEqual([])
})
