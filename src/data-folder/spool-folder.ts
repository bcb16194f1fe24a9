import { mkdir, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './process-identity.ts'

/**
 * Makes this process's own folder for files that live no longer than it does, and removes those of processes of this
 * machine that are gone. Folders of other machines on the same volume are left alone.
 *
 * @returns its path, `spool/<machine>-<pid>` in the data folder; it is empty.
 */
export async function openSpoolFolder(dataDir: string): Promise<string> {
  const spool = join(dataDir, 'spool')
  await mkdir(spool, { recursive: true, mode: 0o700 })
  for (const name of await readdir(spool)) {
    const pid = pidOnThisMachine(name)
    if (pid === undefined || (pid !== process.pid && isAlive(pid))) continue
    // Another process that starts now may be removing it as well.
    await rm(join(spool, name), { recursive: true, force: true })
  }
  const own = join(spool, `${hostname()}-${process.pid}`)
  await mkdir(own, { recursive: true, mode: 0o700 })
  return own
}

function pidOnThisMachine(name: string): number | undefined {
  const prefix = `${hostname()}-`
  const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN
  return Number.isInteger(pid) ? pid : undefined
}
