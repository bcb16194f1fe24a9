import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { withSession } from '../servers/sessions.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

/** The first migration that came after the release. */
const NEXT = '20261121150000'

const FOLDER = new URL('../../../prisma/migrations/', import.meta.url)

/** A database as the first release made it: with its migrations only, and as Prisma's engine ran and listed them. */
export async function createReleasedDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  await withSession(database.url, async (session) => {
    await session.query('SET search_path = public')
    await session.query(`
      CREATE TABLE _prisma_migrations (
        id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz,
        migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
        started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`)
    for (const name of (await readdir(FOLDER)).filter((name) => name < NEXT).toSorted()) {
      const sql = await readFile(new URL(`${name}/migration.sql`, FOLDER), 'utf8')
      await session.query(sql)
      await session.query(
        `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
         VALUES ($1, $2, now(), $3, 1)`,
        [randomUUID(), createHash('sha256').update(sql).digest('hex'), name],
      )
    }
  })
  return database
}

export interface ReleasedLogin {
  readonly name: string
  /** Its connection URL. */
  readonly url: string
  /** The name of its stage's schema, quoted. */
  readonly schema: string
  drop(): Promise<void>
}

/** A project's login and its stage, as the first release made them. */
export async function addReleasedProject(database: TestDatabase): Promise<ReleasedLogin> {
  const name = `wharf_test_${randomUUID().replaceAll('-', '')}`
  const schema = `"${name}.live"`
  await database.query(`CREATE ROLE ${name} LOGIN PASSWORD '${name}'`)
  await database.query(`GRANT ${name} TO CURRENT_USER`)
  const [{ current } = { current: '' }] = await database.query<{ current: string }>(
    'SELECT current_database() AS current',
  )
  await database.query(`GRANT CONNECT, TEMPORARY ON DATABASE ${current} TO ${name}`)
  const [project] = await database.query<{ id: string }>(
    `INSERT INTO control.project (slug, login, sealed_password) VALUES ($1, $1, '') RETURNING id`,
    [name],
  )
  const [stage] = await database.query<{ id: string }>(
    `INSERT INTO control.stage (project_id, slug, schema_name) VALUES ($1, 'live', $2) RETURNING id`,
    [project?.id, `${name}.live`],
  )
  await database.query('INSERT INTO system.stage_state (stage_id, schema_name, login) VALUES ($1, $2, $3)', [
    ...[stage?.id, `${name}.live`, name],
  ])
  await database.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${name}`)
  const url = new URL(database.url)
  url.username = name
  url.password = name
  return {
    name,
    url: url.href,
    schema,
    async drop() {
      await withSession(database.superuserUrl, async (session) => {
        await session.query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`)
      })
    },
  }
}
