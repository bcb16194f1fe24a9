import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { databaseUnavailable } from '../../errors.ts'
import { unlessMissing } from '../../lib/unless-missing.ts'

const run = promisify(execFile)

const SYSTEM_USER = 'postgres'

/** The user that PostgreSQL runs as, as options of child_process: none means this process's own user. */
export interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

/**
 * PostgreSQL refuses to run as root. When we are root it runs as the owner of the cluster, or, where there is no
 * cluster yet, as the system user `postgres`, who is made where missing.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where that user is missing and can't be made.
 */
export async function chooseServerUser(clusterDir: string): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return {}
  const owner = await ownerOf(clusterDir)
  return owner && owner.uid !== 0 ? owner : systemUser()
}

async function ownerOf(path: string): Promise<Required<ServerUser> | undefined> {
  const found = await unlessMissing(stat(path))
  return found && { uid: found.uid, gid: found.gid }
}

async function systemUser(): Promise<ServerUser> {
  try {
    return await lookUpUser(SYSTEM_USER)
  } catch {
    // `id` fails where the user is missing. Whatever else its reason was, the second look says it.
    await createUser(SYSTEM_USER)
    return lookUpUser(SYSTEM_USER)
  }
}

async function lookUpUser(name: string): Promise<ServerUser> {
  const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}

async function createUser(name: string): Promise<void> {
  try {
    // `--force`: succeeds where the group is there already.
    await run('groupadd', ['--system', '--force', name])
    const nowhere = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/bin/false']
    await run('useradd', ['--system', '--gid', name, ...nowhere, name])
  } catch (error) {
    throw databaseUnavailable(
      `PostgreSQL doesn't run as root, and the system user "${name}" for it could not be made: ` +
        'run Wharf as an ordinary user, make that user, or set DATABASE_URL',
      error,
    )
  }
}

/** Prints the first of its arguments that it may not enter (a folder) or execute (a file). */
const FIRST_CLOSED = 'for path in "$@"; do [ -x "$path" ] || { printf %s "$path"; exit 0; }; done'

/**
 * Makes sure that the server's user can get to these paths: root can go everywhere, that user can't. Asked of the
 * system, as that user, so that groups and access control lists count.
 *
 * @param paths absolute, without symbolic links.
 * @throws {AppError} DATABASE_UNAVAILABLE, with the folder that is closed.
 */
export async function assertReachable(user: ServerUser, paths: readonly string[]): Promise<void> {
  if (user.uid === undefined) return
  const steps = [...new Set(paths.flatMap((path) => [...foldersAbove(path), path]))]
  const { stdout: closed } = await run('/bin/sh', ['-c', FIRST_CLOSED, 'sh', ...steps], { ...user, cwd: '/' })
  if (closed === '') return
  throw databaseUnavailable(
    `PostgreSQL doesn't run as root, and its user (uid ${user.uid}) may not enter ${closed}: run "chmod o+x ${closed}", ` +
      'move Wharf or (WHARF_DATA_DIR) its data folder elsewhere, run Wharf as an ordinary user, or set DATABASE_URL',
  )
}

/** From the root folder downwards. */
function foldersAbove(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [...foldersAbove(folder), folder]
}
