import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { AppError } from '../errors.ts'
import { createFileAtomically } from '../lib/atomic-file.ts'
import { parseJson } from '../lib/parse-json.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'
import { makeDataFolder } from './make-data-folder.ts'
import { isRunning, ownIdentity, processIdentitySchema } from './process-identity.ts'
import { readServiceAddress } from './service-address.ts'

/** The lock's file in the data folder; others, named for it, are beside it while a stale lock is cleared away. */
export const LOCK_FILE = 'lock.json'

/** How often, and how far apart, a starter looks again while another one clears a stale lock away. */
const CLEARING_CHECKS = 250
const CLEARING_CHECK_INTERVAL_MS = 20

const holderSchema = processIdentitySchema.extend({
  /** Names this one taking of the lock. */
  id: z.uuid(),
  since: z.iso.datetime(),
})

type Holder = Readonly<z.infer<typeof holderSchema>>

export interface DataFolderLock {
  /** Gives the folder free; calling it again does nothing. */
  release(): Promise<void>
}

/**
 * Makes the data folder where it is missing, and takes it for this process alone.
 *
 * The lock is the file `lock.json`, made by a hard link, so that one of several starters gets it and its content is
 * whole from the first moment. It names its holder by pid and birth, and is stale as soon as that process is gone,
 * however it ended, and even if another process has its pid now.
 *
 * A stale lock may be removed only by who holds the *clearing lock* of its id (`lock.json.<id>`), and only after
 * seeing, while holding that, that `lock.json` still has this id. Without it a slow starter that judged the old lock
 * stale could remove the new one of a faster starter. A live lock is removed by its holder only, and ids never come
 * back, so between that look and the removal nobody else can have changed the file. The clearing lock is a lock of the
 * same kind: one that a crash left behind is cleared in the same way.
 *
 * Processes that can't see each other (two containers on one volume) can't be told from dead ones.
 *
 * @throws {AppError} DATA_FOLDER_IN_USE, with who has it, where a living process does.
 */
export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  await makeDataFolder(dataDir)
  const path = join(dataDir, LOCK_FILE)
  const holder: Holder = { ...(await ownIdentity()), id: randomUUID(), since: new Date().toISOString() }
  const winner = await acquire(path, holder)
  if (winner.id !== holder.id) throw await dataFolderInUse(dataDir, winner)
  return { release: () => removeIfHeldBy(path, holder.id) }
}

/** @returns the current holder: `candidate`, or the living process that had the lock already. */
async function acquire(path: string, candidate: Holder): Promise<Holder> {
  for (let check = 1; ; check++) {
    if (await createFileAtomically(path, `${JSON.stringify(candidate)}\n`, 0o644)) return candidate
    const holder = await readHolder(path)
    if (!holder) continue
    if (await isRunning(holder)) return holder
    const clearer = await clear(path, holder.id, candidate)
    if (clearer.id === candidate.id) continue
    if (check === CLEARING_CHECKS) return clearer
    await sleep(CLEARING_CHECK_INTERVAL_MS)
  }
}

/** Removes the stale lock `staleId`. @returns who does that: `candidate`, or another one who is just at it. */
async function clear(path: string, staleId: string, candidate: Holder): Promise<Holder> {
  const clearingPath = `${path}.${staleId}`
  const clearer = await acquire(clearingPath, candidate)
  if (clearer.id !== candidate.id) return clearer
  try {
    await removeIfHeldBy(path, staleId)
  } finally {
    await removeIfHeldBy(clearingPath, candidate.id)
  }
  return candidate
}

async function removeIfHeldBy(path: string, id: string): Promise<void> {
  const holder = await readHolder(path)
  if (holder?.id === id) await rm(path)
}

async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFileIfThere(path)
  if (text === undefined) return undefined
  const holder = holderSchema.safeParse(parseJson(text)).data
  if (holder) return holder
  throw new AppError('DATA_FOLDER_IN_USE', `the lock file ${path} is not one of Wharf's: remove it if no service runs`)
}

async function dataFolderInUse(dataDir: string, holder: Holder): Promise<AppError> {
  const address = await readServiceAddress(dataDir)
  const where = address?.pid === holder.pid ? `, at ${address.url}` : ''
  return new AppError(
    'DATA_FOLDER_IN_USE',
    `the data folder ${dataDir} is in use by process ${holder.pid}, since ${holder.since}${where}: ` +
      'stop that one, or set WHARF_DATA_DIR to another folder',
  )
}
