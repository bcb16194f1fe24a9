import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { createDatabaseIn, type TestCluster, type TestDatabase } from '../database/database.ts'
import { TEMPLATE_DATABASE } from './template-database.ts'

const run = promisify(execFile)

/** A PostgreSQL server of the system's own programs. */
export interface InstalledCluster extends TestCluster {
  createDatabase(): Promise<TestDatabase>
  /** For the service; it may have Wharf's tables already. */
  createServiceDatabase(): Promise<TestDatabase>
  /** A schema of a database, as `pg_dump` writes it. */
  dump(database: Pick<TestDatabase, 'superuserUrl'>, schema: string, options?: readonly string[]): Promise<string>
}

/** The one that all test files share, for those that do nothing to the server itself; undefined where none is installed. */
export function installedCluster(): InstalledCluster | undefined {
  const shared = inject('installed')
  if (shared === null) return undefined
  return {
    ...shared,
    createDatabase: () => createDatabaseIn(shared),
    createServiceDatabase: () => createDatabaseIn(shared, TEMPLATE_DATABASE),
    dump: dumpWith(shared.bin),
  }
}

/** @param bin the folder of the programs. */
export const dumpWith =
  (bin: string): InstalledCluster['dump'] =>
  async (database, schema, options = []) => {
    const args = ['--schema', `"${schema}"`, '--no-owner', ...options, database.superuserUrl]
    const { stdout } = await run(join(bin, 'pg_dump'), args, { maxBuffer: 2 ** 30 })
    return stdout
  }
