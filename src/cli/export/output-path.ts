import { access, constants, type lstat, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { wrongUse } from '../../errors.ts'
import { errorCode } from '../../lib/error-code.ts'
import type { CliEnvironment, CommandContext } from '../environment.ts'
import { throwFileFailure, toFileFailure } from '../file-failure.ts'

/** The name for standard output. */
export const STDOUT = '-'

/** Where a command prints beside an archive: to standard error, where the archive itself goes to standard output. */
export const besideArchive = ({ environment }: CommandContext, file: string): Pick<CommandContext, 'environment'> => ({
  environment: file === STDOUT ? { ...environment, stdout: environment.stderr } : environment,
})

/**
 * Checks, before anything is asked for, that an archive can be put there: by renaming, which would replace a device
 * or a pipe instead of writing to it; and not to a terminal, which would obey what rows may hold.
 *
 * @throws {AppError} WRONG_USE
 */
export async function assertUsableOutput(path: string, stdout: CliEnvironment['stdout']): Promise<void> {
  if (path === STDOUT) {
    if (stdout.isTTY) throw wrongUse('standard output is a terminal: write the archive to a file, or into a pipe')
    return
  }
  if (path === '' || /[/\\]$/.test(path)) throw wrongUse(`the output "${path}" is not the name of a file`)
  const folder = dirname(resolve(path))
  if (!(await statOf(folder))?.isDirectory()) throw wrongUse(`there is no folder ${folder} for the output`)
  await access(folder, constants.W_OK | constants.X_OK).catch(throwFileFailure(`the output ${path}`, 'write'))
  const there = await statOf(path)
  if (there?.isDirectory()) throw wrongUse(`the output ${path} is a folder; expected the name of a file`)
  if (there && !there.isFile()) {
    throw wrongUse(
      `the output ${path} is not a regular file; "--output -" writes to standard output, for any other use`,
    )
  }
}

/** @returns undefined where there is nothing, or a symbolic link to nothing. */
async function statOf(path: string): Promise<Awaited<ReturnType<typeof lstat>> | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw toFileFailure(error, `the output ${path}`, 'write')
  }
}
