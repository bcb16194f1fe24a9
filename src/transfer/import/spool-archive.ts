import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ReadArchiveOptions, readArchive } from '../../archive/archive-reader.ts'
import { createArchivePlan, type PlannedProject } from './archive-plan.ts'
import type { CheckedArchive } from './import-archive.ts'

/** Chunks of this size are read back from the spool. */
const READ_BYTES = 256 * 1024

export interface SpoolOptions extends ReadArchiveOptions {
  /** Throws where what has come so far must not go on; asked at the beginning of each project, before its rows. */
  readonly admit: (projects: readonly PlannedProject[]) => void
}

export interface SpooledArchive extends CheckedArchive {
  /** Removes the file. */
  remove(): Promise<void>
}

/**
 * Receives an archive into a file, and reads it through on the way: when it has arrived, it is known to be whole, and
 * what is in it. Bounded in memory, whatever its size.
 *
 * @param bytes plain or gzip.
 * @param folder for spooled files.
 * @throws {AppError} ARCHIVE_INVALID at the first fault; what `admit` throws. Nothing is left of the file then.
 */
export async function spoolArchive(
  bytes: AsyncIterable<Buffer>,
  folder: string,
  { admit, ...options }: SpoolOptions,
): Promise<SpooledArchive> {
  const path = join(folder, `${randomUUID()}.archive`)
  const remove = (): Promise<void> => rm(path, { force: true })
  const plan = createArchivePlan()
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      const received = tee(bytes, (chunk) => file.writeFile(chunk))
      for await (const item of readArchive(received, options)) {
        plan.add(item)
        if (item.kind === 'project') admit(plan.projects)
      }
    } finally {
      await file.close()
    }
  } catch (error) {
    await remove()
    throw error
  }
  return {
    projects: plan.projects,
    read: (signal) => readArchive(createReadStream(path, { highWaterMark: READ_BYTES }), { ...options, signal }),
    remove,
  }
}

async function* tee(
  bytes: AsyncIterable<Buffer>,
  write: (chunk: Buffer) => Promise<unknown>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of bytes) {
    await write(chunk)
    yield chunk
  }
}
