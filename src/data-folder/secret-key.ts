import { join } from 'node:path'
import { readFileIfThere } from '../lib/read-file-if-there.ts'
import { readOrCreateSecret } from './secrets.ts'

/** The key that stored secrets are sealed with, and those that sealed some before it. */
export interface SecretKeys {
  readonly current: string
  readonly previous: readonly string[]
}

/**
 * The keys: as configured, or from the data folder, where `secret-key` is made if it is missing. To change that one, its
 * file is renamed to `secret-key-previous`, which may have several keys, one a line.
 */
export async function secretKeysOf(config: {
  readonly dataDir: string
  readonly secretKey: string | undefined
  readonly previousSecretKeys: readonly string[]
}): Promise<SecretKeys> {
  const kept = await readFileIfThere(join(config.dataDir, 'secret-key-previous'))
  const previous = [...config.previousSecretKeys, ...(kept ?? '').split(/\s+/).filter((key) => key !== '')]
  return { current: config.secretKey ?? (await readOrCreateSecret(config.dataDir, 'secret-key')), previous }
}
