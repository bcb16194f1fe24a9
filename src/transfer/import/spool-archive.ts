import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type ArchiveItem, type ReadArchiveOptions, readArchive } from '../../archive/archive-reader.ts'
import { createArchivePlan, type PlannedProject } from './archive-plan.ts'
import type { CheckedArchive } from './import-archive.ts'
import { toEventLine } from './load-events.ts'
import { createSpoolFile, type SpoolFile } from './spool-file.ts'

export interface CheckOptions extends ReadArchiveOptions {
  /** Throws where what has come so far must not go on; asked at the beginning of each project, before its rows. */
  readonly admit: (projects: readonly PlannedProject[]) => void
}

export interface SpooledArchive extends CheckedArchive {
  /** Removes the file. */
  remove(): Promise<void>
}

/**
 * Reads an archive through and keeps nothing but what is in it.
 *
 * @param bytes plain or gzip.
 * @throws {AppError} ARCHIVE_INVALID at the first fault; what `admit` throws.
 */
export async function checkArchive(
  bytes: AsyncIterable<Buffer>,
  { admit, ...options }: CheckOptions,
): Promise<readonly PlannedProject[]> {
  const plan = createArchivePlan()
  for await (const item of readArchive(bytes, options)) {
    plan.add(item, 0)
    if (item.kind === 'project') admit(plan.projects)
  }
  return plan.projects
}

/**
 * Reads an archive through as it arrives, and puts what PostgreSQL will be given into a file: rows as text for COPY,
 * and events. When it has arrived, it is known to be whole, and what is in it. Bounded in memory, whatever its size.
 *
 * @param bytes plain or gzip.
 * @param folder for spooled files.
 * @throws {AppError} as `checkArchive`, and STORAGE_FULL. Nothing is left of the file then.
 */
export async function spoolArchive(
  bytes: AsyncIterable<Buffer>,
  folder: string,
  { admit, ...options }: CheckOptions,
): Promise<SpooledArchive> {
  const file = await createSpoolFile(join(folder, `${randomUUID()}.rows`))
  const plan = createArchivePlan()
  try {
    for await (const item of readArchive(bytes, options)) {
      await spool(item, file)
      plan.add(item, file.size)
      if (item.kind === 'project') admit(plan.projects)
    }
    await file.finish()
  } catch (error) {
    await file.remove()
    throw error
  }
  return { projects: plan.projects, read: file.read, remove: file.remove }
}

async function spool(item: ArchiveItem, file: SpoolFile): Promise<void> {
  if (item.kind === 'row') await file.append(item.text)
  if (item.kind === 'event') await file.append(toEventLine(item.content))
}
