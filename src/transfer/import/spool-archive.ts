import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type ArchiveItem, type ReadArchiveOptions, readArchive } from '../../archive/archive-reader.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { createArchivePlan, type PlannedProject } from './archive-plan.ts'
import { followArchive } from './arriving-archive.ts'
import type { CheckedArchive } from './checked-archive.ts'
import { type LoadAheadOptions, startLoadAhead } from './load-ahead.ts'
import { toEventLine } from './load-events.ts'
import { type ByteRange, createSpoolFile, type SpoolFile } from './spool-file.ts'

export interface CheckOptions extends ReadArchiveOptions {
  /**
   * Throws where what has come so far must not go on; asked at the beginning of each project, and of each stage, before
   * its structure and its rows.
   */
  readonly admit: (projects: readonly PlannedProject[]) => void | Promise<void>
}

export interface SpoolOptions extends CheckOptions {
  /** Where it goes, to be loaded there while it is still arriving; without, nothing is loaded ahead. */
  readonly ahead?: LoadAheadOptions
  /** For how long loading ahead may wait, in all, for more of the archive; in milliseconds. */
  readonly patienceMs?: number
  /** How many bytes stay free on the disk of the spooled files; without, it may be filled. */
  readonly reserveBytes?: number
}

export interface SpooledArchive extends CheckedArchive {
  /** Removes the file, and what was loaded ahead of it and not taken. */
  remove(): Promise<void>
}

/** An open transaction keeps PostgreSQL from tidying up after everybody, so it may not last as long as a slow upload. */
const PATIENCE_MS = 5 * 60_000

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
    if (item.kind === 'project' || item.kind === 'stage') await admit(plan.projects)
  }
  return plan.projects
}

/**
 * Reads an archive through as it arrives, and puts what PostgreSQL will be given into a file: rows for COPY, and
 * events. When it has arrived, it is known to be whole, and what is in it. Bounded in memory, whatever its size.
 *
 * @param bytes plain or gzip.
 * @param folder for spooled files.
 * @throws {AppError} as `checkArchive`, and STORAGE_FULL. Nothing is left of the file then.
 */
export async function spoolArchive(
  bytes: AsyncIterable<Buffer>,
  folder: string,
  { admit, ahead, patienceMs = PATIENCE_MS, reserveBytes, ...options }: SpoolOptions,
): Promise<SpooledArchive> {
  const file = await createSpoolFile(join(folder, `${randomUUID()}.rows`), reserveBytes)
  const { projects, add } = createArchivePlan()
  const follower = followArchive({ projects, file }, patienceMs)
  const loading = ahead && startLoadAhead(follower, projects, ahead)
  const remove = async (): Promise<void> => {
    await loading?.abandon()
    await file.remove()
  }
  try {
    for await (const item of readArchive(bytes, { ...options, binary: true })) {
      await spool(item, file)
      add(item, file.size)
      if (item.kind === 'project' || item.kind === 'stage') await admit(projects)
      follower.moreCame()
    }
    follower.allCame()
    await file.finish()
  } catch (error) {
    await remove()
    throw error
  }
  const read = (range: ByteRange, signal: AbortSignal): AsyncIterable<BorrowedBytes> => file.read([range], signal)
  return { projects, read, remove, ...(loading && { ahead: loading }) }
}

async function spool(item: ArchiveItem, file: SpoolFile): Promise<void> {
  if (item.kind === 'row') await file.append(item.bytes)
  if (item.kind !== 'event') return
  for (const bytes of toEventLine(item)) await file.append(new BorrowedBytes(bytes))
}
