import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from '../lib/atomic-file.ts'
import { parseJson } from '../lib/parse-json.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'
import { distrusted, distrustOfFolder, type NotOwn, readOwnFile } from './own-files.ts'
import { proofSecretPath } from './service-proof.ts'

const FILE_NAME = 'service.json'

const serviceAddressSchema = z.object({
  url: z.url(),
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
})

/** Where the service of a data folder listens, for the command line on the same machine. */
export type ServiceAddress = Readonly<z.infer<typeof serviceAddressSchema>>

/** Writes down in the data folder where this service listens. */
export async function writeServiceAddress(dataDir: string, address: ServiceAddress): Promise<void> {
  await writeFileAtomically(join(dataDir, FILE_NAME), `${JSON.stringify(address, null, 2)}\n`, 0o600)
}

/**
 * @returns the address of the service that started last; undefined where there is none, or nothing usable. A service
 * that was killed leaves its address behind, so the caller has to see whether it answers.
 */
export async function readServiceAddress(dataDir: string): Promise<ServiceAddress | undefined> {
  const text = await readFileIfThere(join(dataDir, FILE_NAME))
  return text === undefined ? undefined : serviceAddressSchema.safeParse(parseJson(text)).data
}

/** What the command line may rely on: an address with the secret that the service there has to know. */
export type TrustedAddress =
  | NotOwn
  | { readonly kind: 'found'; readonly address: ServiceAddress; readonly host: string; readonly secret: string }

/**
 * Reads the address for somebody who is about to send a token there. It counts only where folder and files are this
 * user's own, nobody else can write them, and the address is one of this machine's loopback interface.
 */
export async function readTrustedAddress(dataDir: string): Promise<TrustedAddress> {
  const path = join(dataDir, FILE_NAME)
  const file = await readOwnFile(path, 'public')
  if (file.kind !== 'read') return file
  const address = serviceAddressSchema.safeParse(parseJson(file.text)).data
  if (!address) return { kind: 'missing' }
  const reason = await distrustOfFolder(dataDir)
  if (reason !== undefined) return distrusted(reason)
  const host = loopbackAddressOf(address.url)
  if (host === undefined) return distrusted(`${path} names ${address.url}, which is not on loopback`)
  const secret = await readOwnFile(proofSecretPath(dataDir), 'secret')
  if (secret.kind === 'read') return { kind: 'found', address, host, secret: secret.text.trim() }
  if (secret.kind === 'distrusted') return secret
  return distrusted(`${proofSecretPath(dataDir)} is missing: start the service again`)
}

/** @returns the address without brackets; undefined where the URL is not plain http to an address of loopback. */
function loopbackAddressOf(url: string): string | undefined {
  const { protocol, hostname, username, password } = new URL(url)
  if (protocol !== 'http:' || username !== '' || password !== '') return undefined
  return /^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) ? hostname.replace(/^\[|\]$/g, '') : undefined
}

/**
 * Where a service is reached from its own machine.
 *
 * @param url where it listens; one that listens on every address is reached on loopback.
 */
export function toLocalUrl(url: string): string {
  const local = new URL(url)
  if (local.hostname === '0.0.0.0') local.hostname = '127.0.0.1'
  if (local.hostname === '[::]') local.hostname = '[::1]'
  return local.origin
}

/** Removes the address; does nothing where there is none. */
export async function removeServiceAddress(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE_NAME), { force: true })
}
