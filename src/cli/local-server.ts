import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Config } from '../config.ts'
import { foreignOwnerAmong, listenerOwners } from '../data-folder/listener-owners.ts'
import { distrusted, distrustOfFolder, type NotOwn, readOwnFile } from '../data-folder/own-files.ts'
import { rootTokenPath } from '../data-folder/secrets.ts'
import { readTrustedAddress, type TrustedAddress } from '../data-folder/service-address.ts'
import { createProver, isProof } from '../data-folder/service-proof.ts'
import { AppError, isAppError } from '../errors.ts'
import { timeLimit } from '../lib/time-limit.ts'
import type { CommandContext, EmbeddedService } from './environment.ts'
import { print } from './terminal/write.ts'

/** It is on the same machine: it answers at once or not at all. */
const PROBE_TIMEOUT_MS = 2_000

/** How long a command waits for another one that has the data folder: most take a moment. */
const STARTS = 150
const START_INTERVAL_MS = 200

/**
 * Finds the server of the data folder. Where none answers, starts the service in this process, to be closed with
 * what is returned.
 *
 * @throws {AppError} what kept the service from starting; CONFIG_INVALID where the token of a running one is not known,
 *   or where the data folder is not this user's own.
 */
export async function openLocalServer(context: CommandContext, config: Config): Promise<EmbeddedService> {
  const distrust = await distrustOfFolder(config.dataDir)
  if (distrust !== undefined) throw notOwnFolder(config.dataDir, distrust)
  for (let start = 1; ; start++) {
    const found = await findRunning(context, config)
    if (found.kind === 'running') return found.service
    try {
      if (start === 1) await warnOfEnvironmentFile(context)
      return await context.environment.startService(config, { quiet: true })
    } catch (error) {
      if (!isAppError(error, 'DATA_FOLDER_IN_USE')) throw error
      if (found.kind === 'distrusted') throw notUsed(found.reason, error)
      if (start === STARTS) throw error
    }
    await sleep(START_INTERVAL_MS, undefined, { signal: context.signal })
  }
}

type Found = NotOwn | { readonly kind: 'running'; readonly service: EmbeddedService }

async function findRunning({ signal }: CommandContext, config: Config): Promise<Found> {
  const trusted = await readTrustedAddress(config.dataDir)
  if (trusted.kind !== 'found') return trusted
  const { url } = trusted.address
  const foreignOwner = await foreignOwnerAt(url)
  if (foreignOwner !== undefined) {
    return distrusted(`the server at ${url} belongs to the user with the id ${foreignOwner}`)
  }
  const answer = await askForProof(trusted, signal)
  if (answer === 'silent') return { kind: 'missing' }
  if (answer === 'unproven') {
    return distrusted(`the server at ${url} did not prove that it is the one of ${config.dataDir}`)
  }
  const rootToken = config.rootToken ?? (await readRootToken(config.dataDir))
  return { kind: 'running', service: { url, rootToken, close: async () => {} } }
}

/** @returns the id of another user whose process listens there; undefined where there is none. */
async function foreignOwnerAt(url: string): Promise<number | undefined> {
  const owners = await listenerOwners(portOf(url))
  const self = process.geteuid?.()
  return self === undefined ? undefined : foreignOwnerAmong(owners ?? new Set(), self)
}

const portOf = (url: string): number => Number(new URL(url).port || 80)

/**
 * Asks who listens for what only a service of this data folder can know. The answer is bound to the address and the port
 * of the connection, so that another program cannot get it from the service and pass it on.
 */
async function askForProof(
  { address: { url, pid }, host, secret }: Extract<TrustedAddress, { kind: 'found' }>,
  signal: AbortSignal,
): Promise<'proven' | 'unproven' | 'silent'> {
  const challenge = randomBytes(32).toString('base64url')
  try {
    const limit = AbortSignal.any([signal, timeLimit(PROBE_TIMEOUT_MS)])
    const headers = { 'wharf-challenge': challenge }
    const answer = await request(new URL('/healthz', url), { headers, signal: limit })
    await answer.body.dump()
    const proof = answer.headers['wharf-proof']
    const expected = createProver(secret)(challenge, { address: host, port: portOf(url), pid })
    return isProof(typeof proof === 'string' ? proof : undefined, expected) ? 'proven' : 'unproven'
  } catch {
    signal.throwIfAborted()
    // Whatever the reason, a service that was killed and left its address behind is the likeliest.
    return 'silent'
  }
}

async function readRootToken(dataDir: string): Promise<string> {
  const path = rootTokenPath(dataDir)
  const file = await readOwnFile(path, 'secret')
  if (file.kind === 'distrusted') throw notOwnFolder(dataDir, file.reason)
  const token = file.kind === 'read' ? file.text.trim() : ''
  if (token !== '') return token
  throw new AppError('CONFIG_INVALID', `the token of the local server is not in ${path}: set WHARF_ROOT_TOKEN`)
}

/** A user with a `.env` expects the database that it names, not an empty one. */
async function warnOfEnvironmentFile({ environment: { hasEnvironmentFile, stderr } }: CommandContext): Promise<void> {
  if (!hasEnvironmentFile) return
  await print(stderr, 'note: .env was not read, only "wharf start", "wharf api" and "wharf worker" read it')
}

const OTHERWISE = 'or address a server by wharf://<project>:<TOKEN>@<host>[:port]'

const notOwnFolder = (dataDir: string, reason: string): AppError =>
  new AppError('CONFIG_INVALID', `the data folder ${dataDir} is not used: ${reason}, set WHARF_DATA_DIR, ${OTHERWISE}`)

const notUsed = (reason: string, cause: AppError): AppError =>
  new AppError('CONFIG_INVALID', `the running service is not used: ${reason}; put that right, ${OTHERWISE}`, { cause })
