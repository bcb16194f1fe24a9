import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { databaseUnsuitable } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { packageFile } from '../package-file.ts'
import { readVersion } from '../version.ts'
import { tableExists } from './clients.ts'
import { withPatienceForLocks } from './lock-patience.ts'
import { openSession } from './session-client.ts'
import { DEFAULT_PATIENCE_MS, type StartLockOptions, withStartLock } from './start-lock.ts'

const MIGRATIONS_FOLDER = packageFile('prisma/migrations/')

/** Prisma's own, with what has been applied. */
export const MIGRATIONS_TABLE = 'public._prisma_migrations'

/** How long a migration waits for transactions of projects before it ends them, in milliseconds. */
const END_AFTER_MS = 10_000

export interface MigrationOptions extends StartLockOptions {
  /** How long a migration waits for transactions of projects before it ends them, in milliseconds. */
  readonly endAfterMs?: number
}

interface Migration {
  readonly name: string
  readonly sql: string
}

/**
 * Brings the control and system tables up to date. Each migration is one transaction together with its record, so that
 * one that fails, or whose process ends, leaves nothing behind and runs again at the next start. The records are in
 * Prisma's own table, so that its tools understand them.
 *
 * Safe when several processes start at once: one migrates, the others wait for it. Where nothing is missing it costs two
 * queries.
 *
 * @param connectionString a login that may create schemas in the database.
 * @returns the names of the migrations that were applied now.
 * @throws {AppError} DATABASE_UNAVAILABLE where another process migrates for too long, or others hold what a migration
 *   needs; DATABASE_UNSUITABLE where the database has tables in Wharf's schemas that are not Wharf's.
 */
export async function migrate(connectionString: string, options: MigrationOptions): Promise<readonly string[]> {
  const migrations = await readMigrations()
  return withSession(connectionString, options.logger, async (client) => {
    if ((await missing(client, migrations)).length === 0) return []
    return withStartLock(client, options, async () => {
      const applied = await applyMissing(connectionString, migrations, options)
      if (applied.length > 0) options.logger.info({ migrations: applied }, 'database migrated')
      return applied
    })
  })
}

/** Neither of its sessions is the one that has the start lock: a statement that fails must not end that. */
const applyMissing = (
  connectionString: string,
  migrations: readonly Migration[],
  { logger, patienceMs = DEFAULT_PATIENCE_MS, endAfterMs = END_AFTER_MS }: MigrationOptions,
): Promise<readonly string[]> =>
  withSession(connectionString, logger, (client) =>
    withSession(connectionString, logger, async (observer) => {
      const needed = await missing(client, migrations)
      if (needed.length > 0) await makeTable(client)
      const sinceMs = performance.now()
      for (const migration of needed) {
        await withPatienceForLocks(client, () => applyMigration(client, migration), {
          ...{ observer, logger, patienceMs, endAfterMs, sinceMs },
          task: `the migration ${migration.name}`,
        })
      }
      return needed.map(({ name }) => name)
    }),
  )

async function withSession<T>(
  connectionString: string,
  logger: Logger,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await openSession(connectionString, { kind: 'wharf', applicationName: 'wharf migrations', logger })
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** In a transaction that `withPatienceForLocks` has begun and commits. */
async function applyMigration(client: pg.Client, { name, sql }: Migration): Promise<void> {
  // Nothing that a project made is found by a name: not in `public`, and in no other schema.
  await client.query('SET LOCAL search_path = pg_catalog, pg_temp')
  await client.query(sql)
  // Earlier versions listed a migration before they ran it, and left that behind where it failed.
  await client.query(
    `DELETE FROM ${MIGRATIONS_TABLE} WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL`,
    [name],
  )
  await client.query(
    `INSERT INTO ${MIGRATIONS_TABLE} (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
     VALUES ($1, $2, clock_timestamp(), $3, now(), 1)`,
    [randomUUID(), createHash('sha256').update(sql).digest('hex'), name],
  )
}

async function readMigrations(): Promise<readonly Migration[]> {
  const entries = await readdir(MIGRATIONS_FOLDER, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names
      .sort()
      .map(async (name) => ({ name, sql: await readFile(join(MIGRATIONS_FOLDER, name, 'migration.sql'), 'utf8') })),
  )
}

/**
 * Refuses a database that a newer version has migrated: what this one does there could be wrong in any way.
 *
 * @throws {AppError} DATABASE_UNSUITABLE, naming the migrations and what to do.
 */
export async function assertNotNewer(client: pg.Client): Promise<void> {
  const known = (await readMigrations()).map(({ name }) => name)
  const unknown = [...(await readApplied(client))].filter((name) => !known.includes(name)).toSorted()
  if (unknown.length === 0) return
  throw databaseUnsuitable(
    `a newer version of Wharf has migrated this database, up to ${unknown.at(-1)}, and this one, ${readVersion()}, knows ` +
      `migrations up to ${known.at(-1)}: start the newer version, or restore a backup from before the upgrade`,
  )
}

/**
 * Refuses what a newer version has written.
 *
 * @param name of its newest migration. @param what it is, and who wrote it.
 * @throws {AppError} DATABASE_UNSUITABLE
 */
export async function assertKnownMigration(name: string, what: string): Promise<void> {
  const known = (await readMigrations()).map((migration) => migration.name)
  if (known.includes(name)) return
  throw databaseUnsuitable(`${what}, which is newer than this one, ${readVersion()}: use that version, or a newer one`)
}

/** The names of the migrations that have not been applied, in their order. */
export const missingMigrations = async (client: pg.Client): Promise<readonly string[]> =>
  (await missing(client, await readMigrations())).map(({ name }) => name)

/** Those that have not been applied, in their order. */
async function missing(client: pg.Client, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  const applied = await readApplied(client)
  return migrations.filter(({ name }) => !applied.has(name))
}

async function readApplied(client: pg.Client): Promise<ReadonlySet<string>> {
  if (!(await tableExists(client, MIGRATIONS_TABLE))) return new Set()
  const { rows } = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM ${MIGRATIONS_TABLE}
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  )
  return new Set(rows.map(({ name }) => name))
}

/** As Prisma makes it. */
async function makeTable(client: pg.Client): Promise<void> {
  if (await tableExists(client, MIGRATIONS_TABLE)) return
  await assertEmpty(client)
  await client.query(`
    CREATE TABLE ${MIGRATIONS_TABLE} (
      id varchar(36) PRIMARY KEY NOT NULL,
      checksum varchar(64) NOT NULL,
      finished_at timestamptz,
      migration_name varchar(255) NOT NULL,
      logs text,
      rolled_back_at timestamptz,
      started_at timestamptz NOT NULL DEFAULT now(),
      applied_steps_count integer NOT NULL DEFAULT 0
    )`)
}

async function assertEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    `SELECT nspname AS schema FROM pg_namespace n
     WHERE nspname IN ('control', 'system', 'wharf') AND EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid)`,
  )
  const [other] = rows
  if (!other) return
  throw databaseUnsuitable(
    `the schema "${other.schema}" of the database has tables that Wharf did not make: give Wharf a database of its own`,
  )
}
