import { join } from 'node:path'
import { AppError, wrongUse } from '../../errors.ts'
import { type ArchiveInput, withArchiveInput } from '../archive-input.ts'
import type { CommandContext } from '../environment.ts'
import { openSink } from '../export/archive-sink.ts'
import { findSchedule } from '../find-schedule.ts'
import { downloadFile } from '../jobs/download-file.ts'
import { findScheduledJob } from '../jobs/job-api.ts'
import { parseMoment } from '../moment.ts'
import type { Server } from '../server.ts'
import { withTemporaryFolder } from '../temporary-folder.ts'
import { createTransferProgress, progressLine, showProgress } from '../terminal/progress.ts'

/** Which archive of a schedule is meant. */
export interface ScheduledArchive {
  /** The schedule, by its name or id. */
  readonly schedule: string
  /** When it was made, at the latest, as `parseMoment` reads it; undefined for the newest. */
  readonly at: string | undefined
  readonly quiet: boolean | undefined
}

/**
 * Downloads the newest archive of a schedule that is not known to be damaged, or the newest of a time, and lends it for as long
 * as `use` takes.
 *
 * @throws {AppError} WRONG_USE; NOT_FOUND where there is no such schedule or archive; as `downloadFile`.
 */
export async function withScheduledArchive<T>(
  context: CommandContext,
  { http }: Server,
  { schedule, at, quiet }: ScheduledArchive,
  use: (input: ArchiveInput) => Promise<T>,
): Promise<T> {
  const moment = at === undefined ? undefined : parseMoment(at)
  if (at !== undefined && !moment) {
    throw wrongUse(
      `--at "${at}" is not understood: expected a date like 2026-01-31, or a time like 2026-01-31T12:00:00Z`,
    )
  }
  const { id, name } = await findSchedule(http, schedule)
  const job = await findScheduledJob(http, id, moment)
  if (!job) {
    throw new AppError(
      'NOT_FOUND',
      `schedule "${name}" has no archive${moment ? ` of ${moment.toISOString()} or before` : ''} that is whole (schedule:show, job:list)`,
    )
  }
  return withTemporaryFolder('a temporary file', async (folder) => {
    const file = join(folder, 'archive')
    const progress = createTransferProgress()
    const line = (seconds: number): string => `downloading  ${progressLine(progress, seconds)}`
    const sink = () => openSink(file, context.environment.stdout)
    await showProgress(context, { quiet, line }, () =>
      downloadFile({ http, jobId: job.id, openSink: sink, progress, signal: context.signal }),
    )
    const title = `the archive of schedule "${name}" of ${job.createdAt}`
    return withArchiveInput(context, file, (input) => use({ ...input, name: title }))
  })
}
