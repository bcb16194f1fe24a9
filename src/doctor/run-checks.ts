import type { Config } from '../config.ts'
import { createLogger } from '../logger.ts'
import type { Checked } from './check.ts'
import { checkDatabase } from './check-database.ts'
import { checkDataFolder, checkDisk, checkStorage, checkVersions } from './check-machine.ts'
import { checkRedis } from './check-redis.ts'
import { findEmbeddedDatabase } from './embedded-address.ts'

interface CheckedBy {
  /** Wharf's own. */
  readonly version: string
  /** The path of an `.env`, if there is one. */
  readonly environmentFile: string | undefined
}

/** Looks at all that a service with a configuration needs, and changes nothing. */
export const runChecks = async (
  config: Config,
  { version, environmentFile }: CheckedBy,
): Promise<readonly Checked[]> => [
  await checkVersions(version, process.versions.node),
  await checkDataFolder(config, environmentFile),
  ...(await checkDisk(config)),
  await checkStorage(config),
  ...(await checkDatabaseOf(config)),
  ...(await checkRedis(config)),
]

/** An embedded database runs as long as its service does. */
async function checkDatabaseOf(config: Config): Promise<readonly Checked[]> {
  const logger = createLogger('silent')
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined) {
    const advice = 'check DATABASE_URL, and that PostgreSQL runs and lets this login in'
    return checkDatabase({ config, url: databaseUrl, advice, logger })
  }
  const url = await findEmbeddedDatabase(dataDir)
  if (url !== undefined) {
    const advice = 'the embedded PostgreSQL has ended without its service: run "wharf start" again, and this beside it'
    return checkDatabase({ config, url, advice, logger })
  }
  const detail = 'the embedded PostgreSQL does not run: run this again while "wharf start" does'
  return [{ name: 'database', status: 'skipped', detail }]
}
