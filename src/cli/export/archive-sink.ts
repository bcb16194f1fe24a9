import type { BigIntStats } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { syncFolder } from '../../lib/atomic-file.ts'
import { errorCode } from '../../lib/error-code.ts'
import { unlessMissing } from '../../lib/unless-missing.ts'
import { throwFileFailure, toFileFailure } from '../file-failure.ts'
import { writeBytes } from '../terminal/write.ts'
import { STDOUT } from './output-path.ts'

/** Where an archive is written to. Call either `finish` or `discard`, exactly once. */
export interface ArchiveSink {
  write(chunk: Buffer): Promise<void>
  /** To be called only when the archive is known to be whole: it gets its name now. Where it can't, it is discarded. */
  finish(): Promise<void>
  /** Leaves nothing behind, and what had the archive's name before as it was. */
  discard(): Promise<void>
}

/** @param file its name, or that of standard output. @throws {AppError} as `openFileSink`. */
export const openSink = async (file: string, stdout: Writable): Promise<ArchiveSink> =>
  file === STDOUT ? createStreamSink(stdout) : openFileSink(file)

/** An archive holds all rows of a project: nobody but its owner reads it, unless its owner has said otherwise. */
const ARCHIVE_MODE = 0o600

/**
 * Opens `<path>.part`, which gets its name when it is finished and safely on the disk. One that was left behind is
 * replaced: removed first and created again, so that nothing is written through a link put there by others. Only its
 * owner can read it; an archive that takes the place of another file gets that file's permissions with its name.
 *
 * @throws {AppError} WRONG_USE where it may not be made; writing throws FILE_FAILED where the disk is full, or failed.
 */
export async function openFileSink(path: string): Promise<ArchiveSink> {
  const partPath = `${path}.part`
  const refused = throwFileFailure(partPath, 'write')
  await rm(partPath, { force: true }).catch(refused)
  const file = await open(partPath, 'wx', ARCHIVE_MODE).catch(refused)
  const discard = async (): Promise<void> => {
    if (await isStillThere(file, partPath)) await rm(partPath, { force: true })
    await file.close()
  }
  return {
    async write(chunk) {
      await file.writeFile(chunk).catch(refused)
    },
    async finish() {
      try {
        await file.sync().catch(refused)
        if (!(await isStillThere(file, partPath))) throw replacedMeanwhile(partPath)
        await takePermissionsOf(path, file)
        await rename(partPath, path).catch(throwFileFailure(path, 'write'))
      } catch (error) {
        await discard()
        throw error
      }
      await file.close()
      await syncFolder(dirname(path))
    },
    discard,
  }
}

/** Standard output, or another stream that stays open. */
export function createStreamSink(stream: Writable): ArchiveSink {
  return {
    async write(chunk) {
      try {
        await writeBytes(stream, chunk)
      } catch (error) {
        throw errorCode(error) === 'EPIPE' ? outputClosed(error) : toFileFailure(error, 'standard output', 'write')
      }
    },
    finish: async () => undefined,
    discard: async () => undefined,
  }
}

async function takePermissionsOf(path: string, file: FileHandle): Promise<void> {
  const there = await statIfThere(path)
  if (there?.isFile()) await file.chmod(Number(there.mode & 0o777n))
}

/** Whether the name is still that of the open file: another export to the same name takes it over. */
async function isStillThere(file: FileHandle, path: string): Promise<boolean> {
  const open = await file.stat({ bigint: true })
  const there = await statIfThere(path)
  return there !== undefined && there.ino === open.ino && there.dev === open.dev
}

const statIfThere = (path: string): Promise<BigIntStats | undefined> => unlessMissing(lstat(path, { bigint: true }))

const replacedMeanwhile = (partPath: string): AppError =>
  new AppError(
    'EXPORT_INTERRUPTED',
    `${partPath} was removed or replaced meanwhile: does another export write to the same file?`,
  )

const outputClosed = (cause: unknown): AppError =>
  new AppError('EXPORT_INTERRUPTED', 'standard output was closed before the archive was complete', { cause })
