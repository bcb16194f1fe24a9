import { readFile } from 'node:fs/promises'
import { errorCode } from './error-code.ts'

/** @returns the file's text; undefined where there is no such file. */
export async function readFileIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
