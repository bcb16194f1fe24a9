import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { readProofSecret } from '../data-folder/service-proof.ts'

/**
 * What a process of the service is known by: one that is started again in its data folder is the same one. Only one runs
 * there at a time.
 *
 * @returns a UUID of version 8 (RFC 9562), by the folder, its secret and the host.
 */
export async function processIdOf(dataDir: string): Promise<string> {
  const names = [await readProofSecret(dataDir), hostname(), resolve(dataDir)]
  const digest = createHash('sha256').update(JSON.stringify(names)).digest('hex')
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
}
