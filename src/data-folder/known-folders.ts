import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from '../lib/atomic-file.ts'
import { parseJson } from '../lib/parse-json.ts'
import { makeFolder } from './make-data-folder.ts'
import { distrustOfFolder, readOwnFile } from './own-files.ts'
import { randomSecret } from './secrets.ts'

/** The file of a data folder with its id, which nobody else knows: 32 random bytes in base64url. */
export const FOLDER_ID_FILE = 'folder-id'

const recordSchema = z.object({
  path: z.string(),
  inode: z.string(),
  /** SHA-256 of the folder's id, in hex. */
  idHash: z.string(),
})

type FolderRecord = z.infer<typeof recordSchema>

/**
 * Says why it is not known that this user has made a data folder, or has run the service on it, here. A record of that is
 * kept outside the folder, in this user's own state folder, and is bound to the folder's path, inode and id: a folder
 * that was unpacked, copied or moved has none, nor has one in the place of a folder that was removed.
 *
 * @param stateDir where this user's programs keep their state; undefined where the environment names no such folder.
 * @param dataDir an existing folder.
 * @returns a reason for people; undefined where the folder is known.
 */
export async function whyUnknown(stateDir: string | undefined, dataDir: string): Promise<string | undefined> {
  if (stateDir === undefined) return NO_STATE_FOLDER
  const path = await realpath(dataDir)
  const records = recordsFolder(stateDir)
  try {
    const distrust = await distrustOfFolder(records)
    if (distrust !== undefined) return distrust
    const file = await readOwnFile(recordPath(records, path), 'public')
    if (file.kind === 'distrusted') return file.reason
    if (file.kind === 'missing') return 'this user has neither made it nor run "wharf start" on it at this place'
    const record = recordSchema.safeParse(parseJson(file.text)).data
    const id = await readId(path)
    const isSame = record && id !== undefined && isSameFolder(record, await recordOf(path, id))
    return isSame ? undefined : 'it is another folder than the one that this user made or started at this place'
  } catch (error) {
    return `${records} cannot be read (${messageOf(error)})`
  }
}

/**
 * Leaves the record by which a data folder is known from now on.
 *
 * @param dataDir an existing folder, whose lock the caller holds.
 * @returns why that could not be done, for people; undefined where it was.
 */
export async function rememberFolder(stateDir: string | undefined, dataDir: string): Promise<string | undefined> {
  if (stateDir === undefined) return NO_STATE_FOLDER
  const path = await realpath(dataDir)
  const records = recordsFolder(stateDir)
  try {
    await makeFolder(records, 0o700)
    const distrust = await distrustOfFolder(records)
    if (distrust !== undefined) return distrust
    // An id that is there stays: the same user may have records in two state folders.
    const id = (await readId(path)) ?? (await writeId(path))
    await writeFileAtomically(
      recordPath(records, path),
      `${JSON.stringify(await recordOf(path, id), null, 2)}\n`,
      0o600,
    )
    return undefined
  } catch (error) {
    return `${records} cannot be written (${messageOf(error)})`
  }
}

const NO_STATE_FOLDER = 'neither HOME nor XDG_STATE_HOME (on Windows, LOCALAPPDATA) says where such folders are noted'

const recordsFolder = (stateDir: string): string => join(stateDir, 'wharf', 'data-folders')

const recordPath = (records: string, path: string): string => join(records, `${sha256(path)}.json`)

/** The device is left out: its number may be another one after the machine has started again. */
async function recordOf(path: string, id: string): Promise<FolderRecord> {
  const { ino } = await stat(path, { bigint: true })
  return { path, inode: ino.toString(), idHash: sha256(id) }
}

const isSameFolder = (kept: FolderRecord, found: FolderRecord): boolean =>
  kept.path === found.path && kept.inode === found.inode && kept.idHash === found.idHash

async function readId(path: string): Promise<string | undefined> {
  const file = await readOwnFile(join(path, FOLDER_ID_FILE), 'secret')
  const id = file.kind === 'read' ? file.text.trim() : ''
  return id === '' ? undefined : id
}

async function writeId(path: string): Promise<string> {
  const id = randomSecret()
  await writeFileAtomically(join(path, FOLDER_ID_FILE), `${id}\n`, 0o600)
  return id
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
