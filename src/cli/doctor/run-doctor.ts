import type { Config } from '../../config.ts'
import { formatCounted } from '../../lib/units.ts'
import { createLogger } from '../../logger.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatTable } from '../terminal/table.ts'
import type { Checked } from './check.ts'
import { checkDatabase } from './check-database.ts'
import { checkDataFolder, checkDisk, checkStorage, checkVersions } from './check-machine.ts'
import { checkRedis } from './check-redis.ts'
import { findEmbeddedDatabase } from './embedded-address.ts'

/**
 * `doctor`: looks at all that a service with this configuration needs, and changes nothing.
 *
 * @returns 0 where nothing is wrong, warnings aside; else 1.
 */
export async function runDoctor({ environment }: CommandContext, options: ResultOptions): Promise<number> {
  const config = await environment.loadServiceConfig()
  const checks = [
    await checkVersions(environment.version, process.versions.node),
    await checkDataFolder(config, environment.hasEnvironmentFile ? '.env' : undefined),
    ...(await checkDisk(config)),
    await checkStorage(config),
    ...(await checkDatabaseOf(config)),
    ...(await checkRedis(config)),
  ]
  const faults = checks.filter(({ status }) => status === 'fault').length
  const warnings = checks.filter(({ status }) => status === 'warning').length
  const verdict = `${formatCounted(faults, 'fault')}, ${formatCounted(warnings, 'warning')} in ${formatCounted(checks.length, 'check')}`
  await printResult({ environment }, options, {
    json: { ok: faults === 0, checks },
    text: (style) => `${formatTable(HEADINGS, checks.map(toCells), style)}\n\n${verdict}`,
  })
  return faults === 0 ? EXIT.done : EXIT.failed
}

const HEADINGS = ['status', 'check', 'found']

const toCells = ({ status, name, detail }: Checked): readonly string[] => [status, name, detail]

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
