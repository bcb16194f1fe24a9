import { AppError, isAppError } from '../../errors.ts'
import type { CommandContext } from '../environment.ts'
import { createHttpClient, type HttpClient } from '../http.ts'
import { progressLine, showProgress } from '../terminal/progress.ts'
import { awaitJob, cancelJob, hasEnded, type Job } from './job-api.ts'

/** How long the server may take to take note of a cancelling, in milliseconds. */
const CANCEL_TIMEOUT_MS = 5_000

export interface FollowOptions {
  readonly quiet?: boolean | undefined
  /** Whether Ctrl-C cancels the job, which goes on otherwise. */
  readonly cancelOnInterrupt: boolean
}

/** Shows how far a job is until it has ended. @returns it as it ended. */
export function followJob(
  context: CommandContext,
  http: HttpClient,
  job: Job,
  { quiet, cancelOnInterrupt }: FollowOptions,
): Promise<Job> {
  let latest = job
  return showProgress(context, { quiet, line: (seconds) => lineOf(latest, seconds) }, async () => {
    try {
      while (!hasEnded(latest)) latest = await awaitJob(http, job.id)
      return latest
    } catch (error) {
      if (context.signal.aborted && cancelOnInterrupt) await cancelAnyway(http, job.id)
      if (context.signal.aborted) throw error
      throw namingJob(error, `job ${job.id} goes on without this command: job:watch ${job.id} follows it`)
    }
  })
}

/** Where the server cannot be asked any more, adds what became of the job: nobody else says its id. */
export function namingJob(error: unknown, advice: string): unknown {
  if (!isAppError(error, 'REMOTE_FAILED')) return error
  return new AppError('REMOTE_FAILED', `${error.message}; ${advice}`, { faults: error.faults, cause: error })
}

/** By a client of its own: the command's own ends every call once it is interrupted. */
async function cancelAnyway({ origin, token }: HttpClient, id: string): Promise<void> {
  const http = createHttpClient({ origin, token, signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) })
  // If the job has ended meanwhile, or can't be reached, the command is interrupted all the same.
  await Promise.allSettled([cancelJob(http, id)])
  await http.close()
}

function lineOf({ status, progress, attempt }: Job, seconds: number): string {
  if (!progress) return status
  const { phase, table, rows, bytes, rowsTotal } = progress
  const again = attempt > 1 ? `  attempt ${attempt}` : ''
  return `${phase}  ${progressLine({ table: table ?? '', rows, bytes, rowsExpected: rowsTotal ?? undefined }, seconds)}${again}`
}

/** @throws {AppError} REMOTE_FAILED where the job did not succeed, or INCOMPLETE, in the server's own words. */
export function assertSucceeded({ id, status, error }: Job): void {
  if (status === 'succeeded') return
  const reason = error ? `failed: ${error.detail} (${error.code})` : 'was cancelled'
  const code = error?.code === 'INCOMPLETE' ? 'INCOMPLETE' : 'REMOTE_FAILED'
  throw new AppError(code, `job ${id} ${reason}`, { faults: error?.errors ?? [] })
}
