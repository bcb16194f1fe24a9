import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { errorCode } from '../lib/error-code.ts'
import { unlessMissing } from '../lib/unless-missing.ts'

const WRITABLE_BY_OTHERS = 0o022
const ACCESSIBLE_TO_OTHERS = 0o077

/** Why something is not to be trusted, or that it is not there. */
export type NotOwn = { readonly kind: 'distrusted'; readonly reason: string } | { readonly kind: 'missing' }

/** A file's text, or why it was not read. */
export type OwnFile = NotOwn | { readonly kind: 'read'; readonly text: string }

export const distrusted = (reason: string): NotOwn => ({ kind: 'distrusted', reason })

interface Owned {
  readonly uid: number
  readonly mode: number
}

/**
 * Says why what lies in a folder is not to be trusted: only its owner may be able to put files there.
 *
 * @returns a sentence with what to do; undefined where the folder is this user's own, or is not there. Windows, which
 *   has neither owners nor modes of this kind, is not checked.
 */
export async function distrustOfFolder(path: string): Promise<string | undefined> {
  const real = await unlessMissing(realpath(path))
  if (real === undefined) return undefined
  return distrustOf(real, await stat(real), WRITABLE_BY_OTHERS)
}

/**
 * Reads a file if it is this user's own and no link.
 *
 * @param secrecy whether others may read it.
 */
export async function readOwnFile(path: string, secrecy: 'secret' | 'public'): Promise<OwnFile> {
  let file: FileHandle | undefined
  try {
    // What is checked is what is read: the name may belong to another file a moment later.
    file = await unlessMissing(open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK))
    if (!file) return { kind: 'missing' }
    const stats = await file.stat()
    if (!stats.isFile()) return distrusted(`${path} is not a regular file: remove it`)
    const refused = secrecy === 'secret' ? ACCESSIBLE_TO_OTHERS : WRITABLE_BY_OTHERS
    const reason = distrustOf(path, stats, refused)
    return reason === undefined ? { kind: 'read', text: await file.readFile('utf8') } : distrusted(reason)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ELOOP') return distrusted(`${path} is a symbolic link: remove it`)
    if (code === 'EACCES') return distrusted(`${path} may not be read by this user: run the command as its owner`)
    throw error
  } finally {
    await file?.close()
  }
}

function distrustOf(path: string, { uid, mode }: Owned, refusedModes: number): string | undefined {
  const self = process.geteuid?.()
  if (self === undefined) return undefined
  if (uid !== self) {
    return `${path} belongs to the user with the id ${uid}, and this command runs as ${self}: run it as the owner`
  }
  if ((mode & refusedModes) === 0) return undefined
  const advice = refusedModes === WRITABLE_BY_OTHERS ? 'go-w' : 'go-rwx'
  const problem = refusedModes === WRITABLE_BY_OTHERS ? 'can be written by others' : 'is open to others'
  return `${path} ${problem}: run chmod ${advice} on it`
}
