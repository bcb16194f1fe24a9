import { chmod, mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from '../processes/is-alive.ts'

const MEMORY = '/dev/shm'
const NAME = /^wharf-test-run-(\d+)$/

/** Far more than tests were seen to take. */
const NEEDED_BYTES = 8 * 1024 ** 3

/**
 * Keeps temporary files in memory from now on, where there is room and `TMPDIR` says nothing else. Every database is some
 * hundred files, and ext4 looks for a number for each: of 24 test files, that took an eighth of the processor time.
 *
 * @returns removes them.
 */
export async function keepFilesInMemory(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR !== undefined || !(await hasRoom())) return async () => undefined
  await removeOfEnded()
  const folder = join(MEMORY, `wharf-test-run-${process.pid}`)
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o1777)
  process.env.TMPDIR = folder
  return () => rm(folder, { recursive: true, force: true })
}

/** Whether there is enough memory, and libraries may be loaded from it. */
async function hasRoom(): Promise<boolean> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  const options = mounts
    .split('\n')
    .findLast((line) => line.split(' ')[1] === MEMORY)
    ?.split(' ')[3]
  if (options === undefined || /\b(noexec|ro)\b/.test(options)) return false
  const { bavail, bsize } = await statfs(MEMORY)
  return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES
}

/** Removes what runs left that were killed. */
async function removeOfEnded(): Promise<void> {
  for (const name of await readdir(MEMORY)) {
    const [, pid] = NAME.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(MEMORY, name), { recursive: true, force: true })
  }
}
