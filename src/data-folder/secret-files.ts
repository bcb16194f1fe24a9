import { join } from 'node:path'
import { readOwnFile } from './own-files.ts'
import { ROOT_TOKEN_FILE, SECRET_KEY_FILE } from './secrets.ts'
import { proofSecretPath } from './service-proof.ts'

/** The files of the data folder that nobody else may read. */
const secretFiles = (dataDir: string): readonly string[] => [
  ...[ROOT_TOKEN_FILE, SECRET_KEY_FILE, `${SECRET_KEY_FILE}-previous`, 'postgres.json'].map((name) =>
    join(dataDir, name),
  ),
  proofSecretPath(dataDir),
]

/**
 * Says which files with secrets others may read, or have made.
 *
 * @param others paths of such files elsewhere.
 * @returns sentences with what to do; none where all is well.
 */
export async function distrustOfSecrets(dataDir: string, others: readonly string[] = []): Promise<readonly string[]> {
  const problems: string[] = []
  for (const path of [...secretFiles(dataDir), ...others]) {
    const file = await readOwnFile(path, 'secret')
    if (file.kind === 'distrusted') problems.push(file.reason)
  }
  return problems
}
