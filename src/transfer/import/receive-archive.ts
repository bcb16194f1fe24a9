import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { ArchiveItem } from '../../archive/archive-item.ts'
import { assertRowsThere, type RowsPolicy } from '../../archive/assert-rows.ts'
import { type ReadArchiveOptions, readArchive } from '../../archive/read-archive.ts'
import type { CreateEncoders } from '../../archive/row-encoder.ts'
import { copyBinary, copyText } from '../../copy/copy-encoders.ts'
import { toEventLine } from '../../events/load-log.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { type ArchiveLists, type ArchiveProject, createArchiveLists } from './archive-lists.ts'
import type { ImportOptions } from './import-options.ts'
import { createSpoolFile, type SpoolFile } from './spool-file.ts'

export interface CheckOptions extends ReadArchiveOptions, RowsPolicy {
  readonly admit?: ImportOptions['admit'] | undefined
  /** How rows are encoded; as text where it is left out. */
  readonly encoders?: CreateEncoders
}

/**
 * Reads an archive through, and loads nothing.
 *
 * @param bytes plain or gzip.
 * @param into `lists` gets what is known of the archive; `keep` is given each item first, and returns where in the spool
 *   file its bytes end. Without, rows and events are kept nowhere.
 * @throws {AppError} ARCHIVE_INVALID at the first fault; INCOMPLETE where rows are missing, and that is not allowed; what
 *   `admit` and `keep` throw.
 */
export async function checkArchive(
  bytes: AsyncIterable<Buffer>,
  { admit, encoders = copyText, ...options }: CheckOptions,
  { lists, keep }: { readonly lists: ArchiveLists; readonly keep?: (item: ArchiveItem) => Promise<number> } = {
    lists: createArchiveLists(),
  },
): Promise<readonly ArchiveProject[]> {
  for await (const item of readArchive(bytes, encoders, options)) {
    lists.add(item, (await keep?.(item)) ?? 0)
    if (item.kind === 'project' || item.kind === 'stage') await admit?.(lists.projects)
    if (item.kind === 'stage') {
      const project = lists.projects.length > 1 ? lists.projects.at(-1)?.slug : undefined
      const { slug: stage, notExported } = item.content
      assertRowsThere(
        notExported.map((thing) => ({ project, stage, ...thing })),
        options,
      )
    }
  }
  return lists.projects
}

/** An archive that is arriving, or has arrived. */
export interface Archive {
  readonly lists: ArchiveLists
  /** What PostgreSQL will be given: rows for COPY, and events. */
  readonly file: SpoolFile
}

/**
 * Makes room for an archive. Its file is to be removed whatever becomes of it.
 *
 * @param folder for spooled files. @param reserveBytes how many bytes stay free on its disk.
 * @throws {AppError} STORAGE_FULL, STORAGE_UNAVAILABLE
 */
export async function openArchive(folder: string, reserveBytes?: number): Promise<Archive> {
  const file = await createSpoolFile(join(folder, `${randomUUID()}.rows`), reserveBytes)
  return { lists: createArchiveLists(), file }
}

/**
 * Takes an archive as it comes. When it has arrived, it is known to be whole, and what is in it. Bounded in memory,
 * whatever its size.
 *
 * @param bytes plain or gzip.
 * @throws {AppError} as `checkArchive`, and STORAGE_FULL, STORAGE_UNAVAILABLE.
 */
export async function receiveArchive(
  { lists, file }: Archive,
  bytes: AsyncIterable<Buffer>,
  options: CheckOptions,
): Promise<void> {
  const keep = async (item: ArchiveItem): Promise<number> => {
    if (item.kind === 'row') await file.append(item.bytes)
    if (item.kind === 'event') for (const piece of toEventLine(item)) await file.append(new BorrowedBytes(piece))
    return file.size
  }
  // The COPY that takes the rows needs a processor, too.
  await checkArchive(bytes, { ...options, encoders: copyBinary, step: 'large' }, { lists, keep })
  await file.finish()
}
