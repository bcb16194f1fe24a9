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

const ownerSchema = processIdentitySchema.extend({
  /** Names this one taking of the lock. */
  id: z.uuid(),
  since: z.iso.datetime(),
})

type Owner = Readonly<z.infer<typeof ownerSchema>>

export interface DataFolderLock {
  /** Gives the folder free; calling it again does nothing. */
  release(): Promise<void>
}

/**
 * Makes the data folder where it is missing, and takes it for this process alone.
 *
 * The lock is the file `lock.json`, made by a hard link, so that one of several starters gets it and its content is
 * whole from the first moment. It names its owner by pid and birth, and is stale as soon as that process is gone,
 * however it ended, and even if another process has its pid now.
 *
 * A stale lock may be removed only by the holder of the *clearing lock* of its id (`lock.json.<id>`), and only after
 * seeing, while holding that, that `lock.json` still has this id. Without it a slow starter that judged the old lock
 * stale could remove the new one of a faster starter. A live lock is removed by its owner only, and ids never come
 * back, so between that look and the removal nobody else can have changed the file. The clearing lock is a lock of the
 * same kind: one that a crash left behind is cleared in the same way.
 *
 * Processes that can't see each other (two containers on one volume) look dead to each other.
 *
 * @throws {AppError} DATA_FOLDER_IN_USE, with who has it, where a living process does.
 */
export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  await makeDataFolder(dataDir)
  const path = join(dataDir, LOCK_FILE)
  const owner: Owner = { ...(await ownIdentity()), id: randomUUID(), since: new Date().toISOString() }
  const winner = await acquire(path, owner)
  if (winner.id !== owner.id) throw await dataFolderInUse(dataDir, winner)
  return { release: () => removeIfOwnedBy(path, owner.id) }
}

/** @returns the current owner: `candidate`, or the living process that had the lock already. */
async function acquire(path: string, candidate: Owner): Promise<Owner> {
  for (let check = 1; ; check++) {
    if (await createFileAtomically(path, `${JSON.stringify(candidate)}\n`, 0o644)) return candidate
    const owner = await readOwner(path)
    if (!owner) continue
    if (await isRunning(owner)) return owner
    const clearer = await clear(path, owner.id, candidate)
    if (clearer.id === candidate.id) continue
    if (check === CLEARING_CHECKS) return clearer
    await sleep(CLEARING_CHECK_INTERVAL_MS)
  }
}

/** Removes the stale lock `staleId`. @returns who does that: `candidate`, or another one who is just at it. */
async function clear(path: string, staleId: string, candidate: Owner): Promise<Owner> {
  const clearingPath = `${path}.${staleId}`
  const clearer = await acquire(clearingPath, candidate)
  if (clearer.id !== candidate.id) return clearer
  try {
    await removeIfOwnedBy(path, staleId)
  } finally {
    await removeIfOwnedBy(clearingPath, candidate.id)
  }
  return candidate
}

async function removeIfOwnedBy(path: string, id: string): Promise<void> {
  const owner = await readOwner(path)
  if (owner?.id === id) await rm(path)
}

async function readOwner(path: string): Promise<Owner | undefined> {
  const text = await readFileIfThere(path)
  if (text === undefined) return undefined
  const owner = ownerSchema.safeParse(parseJson(text)).data
  if (owner) return owner
  throw new AppError('DATA_FOLDER_IN_USE', `the lock file ${path} is not one of Wharf's: remove it if no service runs`)
}

async function dataFolderInUse(dataDir: string, owner: Owner): Promise<AppError> {
  const address = await readServiceAddress(dataDir)
  const where = address?.pid === owner.pid ? `, at ${address.url}` : ''
  return new AppError(
    'DATA_FOLDER_IN_USE',
    `the data folder ${dataDir} is in use by process ${owner.pid}, since ${owner.since}${where}: ` +
      'stop that one, or set WHARF_DATA_DIR to another folder',
  )
}
