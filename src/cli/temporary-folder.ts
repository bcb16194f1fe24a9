import { lstat, mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../data-folder/process-identity.ts'
import { throwFileFailure } from './file-failure.ts'

/**
 * Lends a folder of its own in TMPDIR, and removes those that commands of this machine have left there that were killed: they hold
 * rows of somebody's database.
 *
 * @param what is to be kept there, for the message where it cannot be: `a temporary file`.
 */
export async function withTemporaryFolder<T>(what: string, use: (folder: string) => Promise<T>): Promise<T> {
  const prefix = `wharf-${hostname()}-${await pidNamespace()}-`
  const names = await readdir(tmpdir()).catch(() => [])
  // What can't be removed is in nobody's way.
  await Promise.allSettled(names.map((name) => removeIfLeft(name, prefix)))
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`)).catch(
    throwFileFailure(`${what} in ${tmpdir()} (TMPDIR)`, 'write'),
  )
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Containers may share TMPDIR, and have numbers of processes of their own. @see pid_namespaces(7) */
const pidNamespace = (): Promise<string> =>
  readlink('/proc/self/ns/pid').then(
    (name) => name.replaceAll(/\D/g, ''),
    () => '0',
  )

/** Only what this user has made: others may make folders of such names there, and change what is in them meanwhile. */
async function removeIfLeft(name: string, prefix: string): Promise<void> {
  if (!name.startsWith(prefix)) return
  const [, pid] = /^(\d+)-\w+$/.exec(name.slice(prefix.length)) ?? []
  if (pid === undefined || isAlive(Number(pid))) return
  const folder = join(tmpdir(), name)
  const found = await lstat(folder)
  if (found.isDirectory() && found.uid === process.getuid?.()) await rm(folder, { recursive: true, force: true })
}
