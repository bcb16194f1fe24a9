import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { assertNotNewer, missingMigrations } from '../database/migrations.ts'
import { openDatabase } from '../database/open-database.ts'
import { openSession } from '../database/session-client.ts'
import { findEmbeddedDatabase } from '../doctor/embedded-address.ts'
import { databaseUnavailable, databaseUnsuitable } from '../errors.ts'
import { createLogger } from '../logger.ts'

/**
 * Lends the database of the installation that is configured here, without its service.
 *
 * @param session what PostgreSQL calls it.
 * @throws {AppError} DATABASE_UNAVAILABLE; DATABASE_UNSUITABLE where another version of Wharf has made its tables.
 */
export async function withControl<T>(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  session: string,
  use: (control: Database) => Promise<T>,
): Promise<T> {
  const url = config.databaseUrl ?? (await findEmbeddedDatabase(config.dataDir))
  if (url === undefined) {
    throw databaseUnavailable('the embedded PostgreSQL does not run: run this again while "wharf start" does')
  }
  await assertMigrated(url, session)
  const options = { maxConnections: 3, session: 'wharf', applicationName: session } as const
  const control = openDatabase(url, options, { logger: createLogger('silent') })
  try {
    return await use(control)
  } finally {
    await control.close()
  }
}

async function assertMigrated(url: string, applicationName: string): Promise<void> {
  const session = { kind: 'wharf', applicationName, logger: createLogger('silent') } as const
  const client = await openSession(url, session).catch((error: unknown) => {
    throw databaseUnavailable('the database cannot be reached; wharf doctor says why', error)
  })
  try {
    await assertNotNewer(client)
    if ((await missingMigrations(client)).length === 0) return
    throw databaseUnsuitable('this version of Wharf was not started on this database yet: start it first')
  } finally {
    await client.end()
  }
}
