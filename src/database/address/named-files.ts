import { stat } from 'node:fs/promises'
import { AppError, wrongUse } from '../../errors.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import { unlessMissing } from '../../lib/unless-missing.ts'
import { type AddressEnvironment, usualFile } from './environment.ts'
import type { Parameters } from './parameters.ts'

type File = 'sslrootcert' | 'sslcert' | 'sslcrl' | 'sslkey'

/** What nobody but the owner may do with a private key; with one of root's, its group may read it. */
const OTHERS = 0o077
const OTHERS_THAN_GROUP = 0o037

/**
 * Reads the file that a parameter names, or else the one where libpq looks for it.
 *
 * @returns undefined where none is named and none is there.
 * @throws {AppError} WRONG_USE where one is named that is not there or may not be read.
 */
export async function readNamedFile(
  name: File,
  parameters: Parameters,
  environment: AddressEnvironment,
): Promise<string | undefined> {
  const path = parameters[name]
  if (path === undefined) {
    const usual = usualFile(environment, name)
    return usual === undefined ? undefined : readOrRefuse(name, usual)
  }
  const text = await readOrRefuse(name, path)
  if (text === undefined) throw wrongUse(`the file that ${name} names is not there`)
  return text
}

/** The private key of a certificate. @throws {AppError} WRONG_USE where there is none, or others have access to it. */
export async function readKey(parameters: Parameters, environment: AddressEnvironment): Promise<string> {
  const path = parameters.sslkey ?? usualFile(environment, 'sslkey')
  const status = path === undefined ? undefined : await unlessMissing(stat(path))
  const key = status && (await readNamedFile('sslkey', parameters, environment))
  if (!key) throw wrongUse('the key of the certificate that sslcert names is not there: sslkey names its file')
  const forbidden = status.uid === 0 ? OTHERS_THAN_GROUP : OTHERS
  if (process.platform !== 'win32' && (status.mode & forbidden) !== 0) {
    throw wrongUse('others have access to the file of sslkey; "chmod 0600" takes that from them')
  }
  return key
}

async function readOrRefuse(name: File, path: string): Promise<string | undefined> {
  try {
    return await readFileIfThere(path)
  } catch (error) {
    throw new AppError('WRONG_USE', `the file of ${name} cannot be read`, { cause: error })
  }
}
