import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chown, mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The bit of CAP_SYS_ADMIN, see capabilities(7). */
const SYS_ADMIN = 1n << 21n

/** Whether this process may mount a file system: as root on Linux, with the capability for it, which containers lack. */
export function mayMount(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/proc/self/status')) return false
  const [, capabilities] = /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return (BigInt(`0x${capabilities ?? '0'}`) & SYS_ADMIN) !== 0n
}

/** A disk in memory that is soon full. */
export interface SmallDisk {
  readonly path: string
  /** Leaves no more than so many bytes free. */
  fill(leftBytes: number): Promise<void>
  /** Frees what `fill` took. */
  free(): Promise<void>
  remove(): Promise<void>
}

/** @param owner who may write to it. */
export async function mountSmallDisk(
  mebibytes: number,
  owner: { readonly uid?: number; readonly gid?: number },
): Promise<SmallDisk> {
  const path = await mkdtemp(join(tmpdir(), 'wharf-test-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=700`, 'tmpfs', path])
  if (owner.uid !== undefined && owner.gid !== undefined) await chown(path, owner.uid, owner.gid)
  const filling = join(path, `filling-${randomUUID()}`)
  return {
    path,
    async fill(leftBytes) {
      await rm(filling, { force: true })
      const { bavail, bsize } = await statfs(path)
      const file = await open(filling, 'w')
      await file.writeFile(Buffer.alloc(Math.max(0, bavail * bsize - leftBytes))).finally(() => file.close())
    },
    free: () => rm(filling, { force: true }),
    async remove() {
      await run('umount', ['--lazy', path])
      await rm(path, { recursive: true })
    },
  }
}
