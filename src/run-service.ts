import type { Config } from './config.ts'
import { createLogger } from './logger.ts'
import { type Service, type ServicePart, startService } from './service.ts'

/**
 * Runs the service until SIGINT or SIGTERM, or until it cannot go on. A second signal ends the process at once.
 *
 * @param parts what this process does; everything where it is missing.
 * @returns the exit code: 0 after a signal, 1 where the service failed.
 */
export async function runService(config: Config, parts?: readonly ServicePart[]): Promise<number> {
  const logger = createLogger(config.logLevel)
  const stop = nextSignal()
  const service = await startService({ config, logger, shared: true, ...(parts && { parts }) })
  process.stdout.write(welcome(service))
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

const welcome = ({ url, rootToken }: Service): string =>
  url === undefined
    ? 'Wharf works on jobs\n'
    : `
Wharf is at ${url}  (interface: ${url}/docs)
Root token: ${rootToken}

Three things to try, in another terminal:
  npm run wharf project:show demo
  npm run wharf data:export                      # writes demo.jsonl.gz
  curl -H "Authorization: Bearer ${rootToken}" ${url}/me

`
