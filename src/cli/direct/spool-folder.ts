import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { throwFileFailure } from '../file-failure.ts'

/** Lends a temporary folder, where rows of an archive wait until they are loaded. */
export async function withSpoolFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-')).catch(
    throwFileFailure(`a temporary folder in ${tmpdir()} (TMPDIR)`, 'write'),
  )
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
