import { readdir } from 'node:fs/promises'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { FOLDER_ID_FILE, rememberFolder, whyUnknown } from './known-folders.ts'
import { type DataFolderLock, LOCK_FILE, lockDataFolder } from './lock.ts'
import { distrustOfFolder } from './own-files.ts'

export interface TakeDataFolderOptions {
  readonly dataDir: string
  /** See `whyUnknown`. */
  readonly stateDir: string | undefined
  /** Whether a folder is taken that this user has neither made nor started here, and is known from then on. */
  readonly takeUnknown: boolean
  readonly logger: Logger
}

/**
 * Takes the data folder for a process that is to start the database in it. Its files are code: PostgreSQL runs commands
 * and loads libraries that its configuration names, and functions that are in its tables, as this user. So a command
 * that is run anywhere takes only a folder that is new, or known.
 *
 * @throws {AppError} DATA_FOLDER_IN_USE; CONFIG_INVALID where the folder is not known, with what to do.
 */
export async function takeDataFolder(options: TakeDataFolderOptions): Promise<DataFolderLock> {
  const { dataDir, stateDir, takeUnknown, logger } = options
  // Under the lock: a folder that another command is just making is known when that one gives it free.
  const lock = await lockDataFolder(dataDir)
  try {
    if (!takeUnknown) await assertOwn(dataDir)
    const unknown = await whyUnknown(stateDir, dataDir)
    if (unknown === undefined) return lock
    if (!takeUnknown && !(await isNew(dataDir))) throw unknownFolder(dataDir, unknown)
    const unmarked = await rememberFolder(stateDir, dataDir)
    if (unmarked !== undefined) {
      logger.info(`other commands will not start the database of ${dataDir} by themselves: ${unmarked}`)
    }
    return lock
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Looked at again: somebody else may have made the folder since the command looked. */
async function assertOwn(dataDir: string): Promise<void> {
  const distrust = await distrustOfFolder(dataDir)
  if (distrust !== undefined)
    throw new AppError('CONFIG_INVALID', `the data folder ${dataDir} is not used: ${distrust}`)
}

/** Whether nothing is there but what making the folder known, or the lock, leaves; also where that was broken off. */
async function isNew(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir)
  return names.every((name) => [LOCK_FILE, FOLDER_ID_FILE].some((own) => isOrBeside(name, own)))
}

const isOrBeside = (name: string, own: string): boolean =>
  name === own || name.startsWith(`${own}.`) || name.startsWith(`.${own}.`)

const unknownFolder = (dataDir: string, reason: string): AppError =>
  new AppError(
    'CONFIG_INVALID',
    `the database of the data folder ${dataDir} is not started: ${reason}. What such a folder holds can run programs as ` +
      'this user. If it is yours (moved, copied, restored, or of an earlier version), run "wharf start" here, and the ' +
      'command again while that runs. Otherwise set WHARF_DATA_DIR to another folder, or address a server by ' +
      'wharf://<project>:<TOKEN>@<host>[:port]',
  )
