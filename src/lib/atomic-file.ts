import { randomUUID } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorCode } from './error-code.ts'

/**
 * Writes a file so that readers, and the next start after a crash, see the old content or the new, never a part.
 *
 * @param mode the file's permissions, e.g. 0o600; the new file has them from its first moment on.
 */
export async function writeFileAtomically(path: string, content: string, mode: number): Promise<void> {
  await withTemporaryFile({ path, content, mode }, (temporary) => rename(temporary, path))
  await syncFolder(dirname(path))
}

/**
 * Makes a file that must not exist yet. Of several processes that try at once exactly one succeeds, and a reader never
 * sees part of its content: hence a hard link to a finished file, not an exclusive `open`.
 *
 * @returns false where the file was there already; it is left as it is.
 */
export async function createFileAtomically(path: string, content: string, mode: number): Promise<boolean> {
  const created = await withTemporaryFile({ path, content, mode }, (temporary) => linkUnlessThere(temporary, path))
  if (created) await syncFolder(dirname(path))
  return created
}

interface NewFile {
  readonly path: string
  readonly content: string
  readonly mode: number
}

/** Writes the content under a temporary name beside `path`, hands that to `use`, and removes what is left of it. */
async function withTemporaryFile<T>(file: NewFile, use: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = join(dirname(file.path), `.${basename(file.path)}.${randomUUID()}`)
  try {
    const handle = await open(temporary, 'wx', file.mode)
    try {
      // Not left to `open`, whose mode the umask narrows.
      await handle.chmod(file.mode)
      await handle.writeFile(file.content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    return await use(temporary)
  } finally {
    await rm(temporary, { force: true })
  }
}

async function linkUnlessThere(existing: string, path: string): Promise<boolean> {
  try {
    await link(existing, path)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Makes a rename, or a new name, survive a power cut. Windows has no such call for folders. */
export async function syncFolder(folder: string, openFolder: typeof open = open): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await openFolder(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
