import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from './config.ts'
import { rootTokenPath } from './data-folder/secrets.ts'
import { prepareRuntime, startLean } from './lib/runtime.ts'
import { createLogger, type Logger } from './logger.ts'
import type { ServicePart } from './service.ts'
import { welcome, welcomeLine, welcomeOfWorker } from './welcome.ts'

/**
 * Runs the service until SIGINT, SIGTERM or SIGHUP, or until it cannot go on. The root token is printed where it was made by this
 * start, and on a terminal.
 *
 * @param parts what this process does; everything where it is missing.
 * @returns the exit code: 0 after a signal, 1 where the service failed.
 */
export async function runService(config: Config, parts?: readonly ServicePart[]): Promise<number> {
  const logger = createLogger(config.logLevel)
  const stop = stopSignal()
  const tokenFile = config.rootToken === undefined ? rootTokenPath(config.dataDir) : undefined
  const makesToken = tokenFile !== undefined && !existsSync(tokenFile)
  logWarnings(logger)
  prepareRuntime(config.runtimeOff)
  const starting = startLean(async () => {
    const { startService } = await import('./service.ts')
    return startService({ config, logger, shared: true, ...(parts && { parts }) })
  })
  const service = await starting.catch((error: unknown) => stoppedAt(stop, error))
  if (typeof service === 'string') {
    logger.info({ signal: service }, 'stopping')
    return 0
  }
  const { url, metricsUrl, rootToken } = service
  const { isTTY } = process.stdout
  const greet = (interfaceUrl: string): string => {
    const said = {
      url: interfaceUrl,
      rootToken,
      tokenFile,
      showToken: makesToken || isTTY,
      hasDemo: !config.databaseUrl,
    }
    return isTTY ? welcome(said) : welcomeLine(said, new Date())
  }
  process.stdout.write(url === undefined ? welcomeOfWorker(metricsUrl, new Date()) : greet(url))
  const reason = await Promise.race([stop, service.failed])
  if (typeof reason === 'string') logger.info({ signal: reason }, 'stopping')
  await service.close()
  return typeof reason === 'string' ? 0 : 1
}

/** How long the signal may take that has ended a program of the start before it arrives here, in milliseconds. */
const SIGNAL_MS = 100

/**
 * Says by which signal a start was ended that failed: a terminal, and a supervisor, send it to all of its processes, as the one
 * that makes the cluster of the embedded PostgreSQL.
 *
 * @throws the error itself where there was no signal.
 */
async function stoppedAt(stop: Promise<NodeJS.Signals>, error: unknown): Promise<NodeJS.Signals> {
  const signal = await Promise.race([stop, delay(SIGNAL_MS)])
  if (signal === undefined) throw error
  return signal
}

/** What Node.js and packages warn of would stand in the log as text, between lines of JSON. */
function logWarnings(logger: Logger): void {
  // None where Node.js was told to be silent.
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => logger.warn({ warning: name }, message))
}

/** A signal that comes this soon after the first, in milliseconds, is the same one: npm passes on what its process group has got, too. */
const SAME_SIGNAL_MS = 1_000

/** Resolves with the first signal that is to end the service. One that comes later ends the process at once, also while it starts. */
const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (signal: NodeJS.Signals): void => {
      firstMs ??= performance.now()
      if (performance.now() - firstMs >= SAME_SIGNAL_MS) process.exit(130)
      resolve(signal)
    }
    // Never without a listener: Node.js would end the process, whose PostgreSQL would go on.
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
    // A terminal that is closed.
    process.on('SIGHUP', onSignal)
  })
