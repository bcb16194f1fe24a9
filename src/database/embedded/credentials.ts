import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { databaseUnavailable } from '../../errors.ts'
import { createFileAtomically } from '../../lib/atomic-file.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'

const FILE_NAME = 'postgres.json'

const credentialsSchema = z.object({
  superuserPassword: z.string().min(1),
  /** Of the login `wharf`. */
  password: z.string().min(1),
})

/** The passwords of the cluster's two logins. */
export type Credentials = Readonly<z.infer<typeof credentialsSchema>>

/**
 * Reads the passwords from the data folder, or makes them. They are kept before the cluster that has them is made, so
 * that a crash in between leaves none that nobody can log in to.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where they are missing though there is a cluster, or are damaged.
 */
export async function readOrCreateCredentials(dataDir: string, clusterExists: boolean): Promise<Credentials> {
  const path = join(dataDir, FILE_NAME)
  if (!clusterExists && (await readFileIfThere(path)) === undefined) return createCredentials(path)
  const credentials = await readCredentials(dataDir)
  if (credentials) return credentials
  throw databaseUnavailable(
    `the passwords of the embedded PostgreSQL, ${path}, are missing or damaged: put the file back from a backup`,
  )
}

/** @returns undefined where they are missing or damaged. */
export async function readCredentials(dataDir: string): Promise<Credentials | undefined> {
  const text = await readFileIfThere(join(dataDir, FILE_NAME))
  return credentialsSchema.safeParse(text === undefined ? undefined : parseJson(text)).data
}

async function createCredentials(path: string): Promise<Credentials> {
  const credentials = { superuserPassword: randomPassword(), password: randomPassword() }
  await createFileAtomically(path, `${JSON.stringify(credentials, null, 2)}\n`, 0o600)
  return credentials
}

/** In base64url, which needs no escaping in a connection URL. */
const randomPassword = (): string => randomBytes(32).toString('base64url')
