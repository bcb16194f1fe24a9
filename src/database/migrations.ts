import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Logger } from '../logger.ts'
import { MIGRATION_LOCK } from './advisory-locks.ts'
import { withSchemaEngine } from './schema-engine.ts'

/** At the same place seen from `src/` and from `dist/`. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../prisma/migrations/', import.meta.url))

interface Migration {
  readonly name: string
  readonly sql: string
}

/**
 * Brings the control and system tables up to date, as `prisma migrate deploy` does.
 *
 * Safe when several processes start at once: one migrates, the others wait for it. Where nothing is missing it
 * costs two queries, and the engine is not even loaded.
 *
 * @param connectionString a login that may create schemas in the database.
 * @returns the names of the migrations that were applied now.
 */
export async function migrate(connectionString: string, logger: Logger): Promise<readonly string[]> {
  const migrations = await readMigrations()
  const client = new pg.Client({ connectionString, application_name: 'wharf migrations' })
  await client.connect()
  try {
    if (await isUpToDate(client, migrations)) return []
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    if (await isUpToDate(client, migrations)) return []
    const applied = await applyMigrations(connectionString, migrations)
    logger.info({ migrations: applied }, 'database migrated')
    return applied
  } finally {
    // Ending the session gives the lock back.
    await client.end()
  }
}

async function applyMigrations(connectionString: string, migrations: readonly Migration[]): Promise<readonly string[]> {
  return withSchemaEngine(connectionString, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: MIGRATIONS_FOLDER,
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
        shadowDbInitScript: '',
        migrationDirectories: migrations.map(({ name, sql }) => ({
          path: name,
          migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
        })),
      },
      filters: { externalTables: [], externalEnums: [] },
    })
    return appliedMigrationNames
  })
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

/** Whether every migration has been applied as it reads now, judged by the table that Prisma's engine keeps. */
async function isUpToDate(client: pg.Client, migrations: readonly Migration[]): Promise<boolean> {
  const table = await client.query<{ found: boolean }>(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS found`,
  )
  if (!table.rows[0]?.found) return false
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM public._prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  )
  const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]))
  return migrations.every(({ name, sql }) => applied.get(name) === createHash('sha256').update(sql).digest('hex'))
}
