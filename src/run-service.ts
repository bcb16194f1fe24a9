import { existsSync } from 'node:fs'
import type { Config } from './config.ts'
import { rootTokenPath } from './data-folder/secrets.ts'
import { prepareRuntime, startLean } from './lib/runtime.ts'
import { createLogger } from './logger.ts'
import type { ServicePart } from './service.ts'
import { welcome, welcomeOfWorker } from './welcome.ts'

/**
 * Runs the service until SIGINT or SIGTERM, or until it cannot go on. A second signal ends the process at once. The root
 * token is printed where it was made by this start, and on a terminal.
 *
 * @param parts what this process does; everything where it is missing.
 * @returns the exit code: 0 after a signal, 1 where the service failed.
 */
export async function runService(config: Config, parts?: readonly ServicePart[]): Promise<number> {
  const logger = createLogger(config.logLevel)
  const stop = nextSignal()
  const tokenFile = config.rootToken === undefined ? rootTokenPath(config.dataDir) : undefined
  const makesToken = tokenFile !== undefined && !existsSync(tokenFile)
  prepareRuntime(config.runtimeOff)
  const service = await startLean(async () => {
    const { startService } = await import('./service.ts')
    return startService({ config, logger, shared: true, ...(parts && { parts }) })
  })
  const { url, metricsUrl, rootToken } = service
  const showToken = makesToken || process.stdout.isTTY
  const hasDemo = !config.databaseUrl
  process.stdout.write(
    url === undefined ? welcomeOfWorker(metricsUrl) : welcome({ url, rootToken, tokenFile, showToken, hasDemo }),
  )
  const reason = await Promise.race([stop, service.failed])
  if (typeof reason === 'string') {
    logger.info({ signal: reason }, 'stopping')
    void nextSignal().then(() => process.exit(130))
  }
  await service.close()
  return typeof reason === 'string' ? 0 : 1
}

const nextSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
