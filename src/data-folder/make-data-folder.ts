import { chmod, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'

/**
 * Makes the data folder where it is missing. Others must be able to pass through: PostgreSQL may run as another user.
 * What is secret inside has its own mode.
 *
 * @throws {AppError} CONFIG_INVALID where it cannot be made, or something else is in its place.
 */
export async function makeDataFolder(dataDir: string): Promise<void> {
  try {
    if (await makeFolder(dataDir)) await chmod(dataDir, 0o755)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new AppError(
      'CONFIG_INVALID',
      `the data folder ${dataDir} cannot be made (${reason}): set WHARF_DATA_DIR to another one`,
      { cause: error },
    )
  }
}

/**
 * Makes a folder and those above it. Not by `mkdir` with `recursive`, which tries for ever in a place (such as /proc)
 * where the folder above is there and none can be made in it.
 *
 * @param mode of every folder that is made, narrowed by the umask.
 * @returns whether it was made, and not there already.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<boolean> {
  try {
    await mkdir(path, mode)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return false
    if (errorCode(error) !== 'ENOENT') throw error
    await makeFolder(dirname(path), mode)
    await mkdir(path, mode)
    return true
  }
}
