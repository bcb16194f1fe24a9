import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { databaseUnavailable } from '../../errors.ts'
import { errorCode } from '../../lib/error-code.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import type { Logger } from '../../logger.ts'
import { stopServer } from './stop-server.ts'

const run = promisify(execFile)

/**
 * Stops the server of this cluster that a killed Wharf left running, and removes what would keep a new one from
 * starting: PostgreSQL takes any living process for the owner of `postmaster.pid`, whatever it is. That file isn't
 * what keeps two servers off one cluster: the shared memory, whose key comes from the folder, is looked at besides.
 *
 * The caller holds the data folder's lock, so no living Wharf uses that server.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where it can't be stopped.
 */
export async function stopLeftoverServer(clusterDir: string, logger: Logger): Promise<void> {
  const pidFile = join(clusterDir, 'postmaster.pid')
  const pid = Number.parseInt((await readFileIfThere(pidFile)) ?? '', 10)
  if (pid > 0 && (await isServerOf(clusterDir, pid))) await stopLeftover(clusterDir, pid, logger)
  await rm(pidFile, { force: true })
}

async function stopLeftover(clusterDir: string, pid: number, logger: Logger): Promise<void> {
  logger.warn({ pid }, 'an earlier service left its embedded PostgreSQL running; it is stopped')
  const stoppedBy = await stopServer({
    signal: (signal) => signalUnlessGone(pid, signal),
    hasEnded: async () => !(await isServerOf(clusterDir, pid)),
  })
  if (stoppedBy) return
  throw databaseUnavailable(
    `the PostgreSQL that an earlier service left running in ${clusterDir} (process ${pid}) doesn't stop: end it`,
  )
}

function signalUnlessGone(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

/** Whether this process is a PostgreSQL that was started for this cluster; a zombie has no command line any more. */
async function isServerOf(clusterDir: string, pid: number): Promise<boolean> {
  const words = await commandLine(pid)
  return words.includes(` -D ${clusterDir} -c `)
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform !== 'linux') return commandLineFromPs(pid)
  const words = await readFileIfThere(`/proc/${pid}/cmdline`).catch(emptyIfGone)
  return (words ?? '').replaceAll('\0', ' ')
}

/** A process that ends between `open` and `read`. */
function emptyIfGone(error: unknown): string {
  if (errorCode(error) === 'ESRCH') return ''
  throw error
}

async function commandLineFromPs(pid: number): Promise<string> {
  try {
    const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return `${stdout.trim()} `
  } catch (error) {
    // ps answers 1 where there is no such process.
    if (error instanceof Error && 'code' in error && error.code === 1) return ''
    throw error
  }
}
