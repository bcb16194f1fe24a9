import { join } from 'node:path'
import { readCredentials } from '../database/embedded/credentials.ts'
import { embeddedUrl, forgetPostgresVariables } from '../database/embedded/embedded-postgres.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'

/**
 * The address of the embedded database of a data folder, as its server wrote it down.
 *
 * @returns undefined where none seems to run. One that was killed leaves its file behind.
 */
export async function findEmbeddedDatabase(dataDir: string): Promise<string | undefined> {
  const [, , , port = ''] = ((await readFileIfThere(join(dataDir, 'postgres', 'postmaster.pid'))) ?? '').split('\n')
  const credentials = await readCredentials(dataDir)
  if (!/^\d+$/.test(port) || !credentials) return undefined
  forgetPostgresVariables(process.env)
  return embeddedUrl(credentials, Number(port))
}
