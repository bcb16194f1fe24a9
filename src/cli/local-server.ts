import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Config } from '../config.ts'
import { rootTokenPath } from '../data-folder/root-token.ts'
import { readServiceAddress } from '../data-folder/service-address.ts'
import { AppError, isAppError } from '../errors.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'
import { timeLimit } from '../lib/time-limit.ts'
import type { CommandContext, EmbeddedService } from './environment.ts'

/** It is on the same machine: it answers at once or not at all. */
const PROBE_TIMEOUT_MS = 2_000

/** How long a command waits for another one that has the data folder: most take a moment. */
const STARTS = 150
const START_INTERVAL_MS = 200

/**
 * Finds the server of the data folder. Where none answers, starts the service in this process, to be closed with
 * what is returned.
 *
 * @throws {AppError} what kept the service from starting; CONFIG_INVALID where the token of a running one is not known.
 */
export async function openLocalServer(context: CommandContext, config: Config): Promise<EmbeddedService> {
  for (let start = 1; ; start++) {
    const running = await findRunning(context, config)
    if (running) return running
    try {
      return await context.environment.startService(config, { quiet: true })
    } catch (error) {
      if (start === STARTS || !isAppError(error, 'DATA_FOLDER_IN_USE')) throw error
    }
    await sleep(START_INTERVAL_MS, undefined, { signal: context.signal })
  }
}

async function findRunning({ signal }: CommandContext, config: Config): Promise<EmbeddedService | undefined> {
  const address = await readServiceAddress(config.dataDir)
  if (!address || !(await isAnswering(address.url, signal))) return undefined
  return {
    url: address.url,
    rootToken: config.rootToken ?? (await readRootToken(config.dataDir)),
    close: async () => {},
  }
}

async function isAnswering(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const limit = AbortSignal.any([signal, timeLimit(PROBE_TIMEOUT_MS)])
    const { statusCode, body } = await request(new URL('/healthz', url), { signal: limit })
    await body.dump()
    return statusCode === 200
  } catch {
    signal.throwIfAborted()
    // Whatever the reason, a service that was killed and left its address behind is the likeliest.
    return false
  }
}

async function readRootToken(dataDir: string): Promise<string> {
  const path = rootTokenPath(dataDir)
  const token = (await readFileIfThere(path))?.trim()
  if (token) return token
  throw new AppError('CONFIG_INVALID', `the token of the local server is not in ${path}: set WHARF_ROOT_TOKEN`)
}
