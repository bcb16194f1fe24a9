import { errorCode } from './error-code.ts'

/** What a call of the file system gives; undefined where there is no such file or folder. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
