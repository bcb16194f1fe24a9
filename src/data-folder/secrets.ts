import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { createFileAtomically } from '../lib/atomic-file.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'

/** The file of the data folder that keeps the root token, where none is configured. */
export const ROOT_TOKEN_FILE = 'root-token'

/** The file that keeps the key of stored secrets, where none is configured. */
export const SECRET_KEY_FILE = 'secret-key'

/** The path of the root token's file. */
export const rootTokenPath = (dataDir: string): string => join(dataDir, ROOT_TOKEN_FILE)

const SECRET_BYTES = 32

/** 32 random bytes in base64url. */
export const randomSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/**
 * Reads a secret that is kept in the data folder, or makes it, in a file of mode 600. Processes that ask at the same
 * moment get the same secret.
 *
 * @param name the file's name in the data folder.
 * @param generate makes a new one.
 * @throws {AppError} CONFIG_INVALID where the file is empty.
 */
export async function readOrCreateSecret(
  dataDir: string,
  name: string,
  generate: () => string = randomSecret,
): Promise<string> {
  const path = join(dataDir, name)
  const kept = await readSecret(path)
  if (kept !== undefined) return kept
  const secret = generate()
  const created = await createFileAtomically(path, `${secret}\n`, 0o600)
  return created ? secret : readOrCreateSecret(dataDir, name, generate)
}

async function readSecret(path: string): Promise<string | undefined> {
  const secret = (await readFileIfThere(path))?.trim()
  if (secret === '') {
    throw new AppError('CONFIG_INVALID', `the secret file ${path} is empty: restore it, or remove it to have a new one`)
  }
  return secret
}

/** The key that stored secrets are sealed with, and those that sealed some before it. */
export interface SecretKeys {
  readonly current: string
  readonly previous: readonly string[]
  /** Where the current one is from: the variable, or the path of the file. */
  readonly source: string
}

/** The same where there may be no current one yet. */
export type FoundKeys = Omit<SecretKeys, 'current'> & { readonly current: string | undefined }

/** What says which keys there are. */
export interface KeySettings {
  readonly dataDir: string
  readonly secretKey: string | undefined
  readonly previousSecretKeys: readonly string[]
}

/**
 * The keys: as configured, or from the data folder; nothing is made. To change the one of the data folder, its file is
 * renamed to `secret-key-previous`, which may have several keys, one a line.
 */
export async function findSecretKeys({ dataDir, secretKey, previousSecretKeys }: KeySettings): Promise<FoundKeys> {
  const path = join(dataDir, SECRET_KEY_FILE)
  const kept = await readFileIfThere(`${path}-previous`)
  return {
    current: secretKey ?? (await readSecret(path)),
    previous: [...previousSecretKeys, ...(kept ?? '').split(/\s+/).filter((key) => key !== '')],
    source: secretKey === undefined ? path : 'WHARF_SECRET_KEY',
  }
}

/** The same, with the file `secret-key` made where there is no current key. */
export async function completeKeys(keys: FoundKeys, dataDir: string): Promise<SecretKeys> {
  return { ...keys, current: keys.current ?? (await readOrCreateSecret(dataDir, SECRET_KEY_FILE)) }
}
