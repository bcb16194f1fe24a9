import type { Database } from '../../database/database.ts'
import { isAppError } from '../../errors.ts'
import { ENDED, type Job } from '../../jobs/job.ts'
import { findJob } from '../../jobs/read-jobs.ts'
import type { JobWatcher } from '../../jobs/watch-jobs.ts'
import { type Caller, findCallerAgain } from '../../projects/access.ts'
import { toProblem } from '../problem.ts'
import { toJobBody } from './job-body.ts'

interface EventSource {
  readonly control: Database
  readonly watcher: JobWatcher
  /**
   * How often something is sent though nothing has changed, so that nobody between takes the connection for dead, in
   * milliseconds.
   */
  readonly everyMs: number
}

interface Watching {
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly requestId: string
  /** As it is now. */
  readonly job: Job
}

/**
 * A job as server-sent events: at once, on every change, and the last time when it has ended. Before each of them, and
 * each sign of life, it is looked again whether the caller may know of the job.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function* jobEvents(source: EventSource, watching: Watching): AsyncGenerator<Buffer, void, undefined> {
  const { control, watcher, everyMs } = source
  const { caller, signal, requestId } = watching
  let { job } = watching
  yield toEvent(job)
  while (!ENDED.has(job.status)) {
    const known = job.revision
    await watcher.change(job.id, known, { limitMs: everyMs, signal })
    signal.throwIfAborted()
    try {
      job = await findJob(control, await findCallerAgain(control.prisma, caller), job.id)
    } catch (error) {
      // A job that was removed, or that the caller may not know of any more, has nothing more to say.
      if (isAppError(error, 'NOT_FOUND')) return
      if (!isAppError(error, 'UNAUTHENTICATED')) throw error
      yield Buffer.from(`event: error\ndata: ${JSON.stringify(toProblem(error, requestId))}\n\n`)
      return
    }
    yield job.revision === known ? HEARTBEAT : toEvent(job)
  }
}

const HEARTBEAT = Buffer.from(': still there\n\n')

const toEvent = (job: Job): Buffer =>
  Buffer.from(`event: job\nid: ${job.revision}\ndata: ${JSON.stringify(toJobBody(job))}\n\n`)
