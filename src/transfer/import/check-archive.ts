import { type ReadArchiveOptions, readArchive } from '../../archive/archive-reader.ts'
import { createArchivePlan, type PlannedProject } from './archive-plan.ts'

export interface CheckOptions extends ReadArchiveOptions {
  /** Throws where what has come so far must not go on; asked at the beginning of each project, before its rows. */
  readonly admit: (projects: readonly PlannedProject[]) => void
}

/**
 * Reads an archive through, and keeps nothing of it but what an import has to know.
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
    plan.add(item)
    if (item.kind === 'project') admit(plan.projects)
  }
  return plan.projects
}
