import type { Database } from '../../database/database.ts'
import { isAppError } from '../../errors.ts'
import { ENDED, type Job } from '../../jobs/job.ts'
import { findJob } from '../../jobs/read-jobs.ts'
import type { JobWatcher } from '../../jobs/watch-jobs.ts'
import { timeLimit } from '../../lib/time-limit.ts'
import type { Caller } from '../../projects/access.ts'
import { toJobBody } from './job-body.ts'

/** How often something is sent though nothing has changed, so that nobody between takes the connection for dead. */
const HEARTBEAT_MS = 15_000

/**
 * A job as server-sent events: at once, on every change, and the last time when it has ended.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function* jobEvents(
  {
    control,
    watcher,
    caller,
    signal,
  }: {
    readonly control: Database
    readonly watcher: JobWatcher
    readonly caller: Caller
    readonly signal: AbortSignal
  },
  first: Job,
): AsyncGenerator<Buffer, void, undefined> {
  let job: Job | undefined = first
  while (job) {
    yield toEvent(job)
    if (ENDED.has(job.status)) return
    for (;;) {
      const inTime = AbortSignal.any([signal, timeLimit(HEARTBEAT_MS)])
      if (await watcher.change(job.id, job.revision, inTime)) break
      signal.throwIfAborted()
      yield HEARTBEAT
    }
    job = await findJob(control, caller, job.id).catch(ifGone)
  }
}

const HEARTBEAT = Buffer.from(': still there\n\n')

const toEvent = (job: Job): Buffer =>
  Buffer.from(`event: job\nid: ${job.revision}\ndata: ${JSON.stringify(toJobBody(job))}\n\n`)

/** A job that was removed has nothing more to say. */
function ifGone(error: unknown): undefined {
  if (!isAppError(error, 'NOT_FOUND')) throw error
}
