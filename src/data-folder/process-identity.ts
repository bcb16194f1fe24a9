import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import { errorCode } from '../lib/error-code.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'

const run = promisify(execFile)

export const processIdentitySchema = z.object({
  pid: z.int().positive(),
  /** When the process began, in the system's own words; empty where the system doesn't say. */
  birth: z.string(),
})

/** Names one process for ever: its pid alone is given to another one after its end. */
export type ProcessIdentity = Readonly<z.infer<typeof processIdentitySchema>>

/** The identity of this very process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, birth: (await readBirth(process.pid)) ?? '' }
}

/** Whether that process still runs; false where it ended, also where its pid now belongs to another one. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await readBirth(identity.pid)) === identity.birth
}

/** @returns what differs between two processes that had the same pid; undefined where no process has it. */
function readBirth(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') return readBirthFromProc(pid)
  return process.platform === 'win32' ? Promise.resolve(isAlive(pid) ? '' : undefined) : readBirthFromPs(pid)
}

/**
 * The start time is counted in ticks since the machine started, so the boot's id goes with it.
 *
 * @see proc_pid_stat(5): field 22 is the start time, field 3 the state, of which `Z` and `X` are dead.
 */
async function readBirthFromProc(pid: number): Promise<string | undefined> {
  const [stat, bootId] = await Promise.all([
    readFileIfThere(`/proc/${pid}/stat`).catch(undefinedIfGone),
    readFileIfThere('/proc/sys/kernel/random/boot_id'),
  ])
  // Field 2 is the program's name in parentheses, and may hold spaces and parentheses of its own.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!fields || fields[0] === 'Z' || fields[0] === 'X') return undefined
  return `${bootId?.trim()} ${fields[19]}`
}

/** A process that ends between `open` and `read`. */
function undefinedIfGone(error: unknown): undefined {
  if (errorCode(error) !== 'ESRCH') throw error
}

async function readBirthFromPs(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined
  const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)], {
    env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' },
  })
  return stdout.trim()
}

/** Whether some process has this pid. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it runs, as somebody else.
    return errorCode(error) === 'EPERM'
  }
}
