import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../database/database.ts'
import { isAppError } from '../../errors.ts'
import { ENDED, type Job } from '../../jobs/job.ts'
import { findJob, type JobFilter, jobsVisibleTo, listJobs, listRevisions } from '../../jobs/read-jobs.ts'
import type { JobWatcher } from '../../jobs/watch-jobs.ts'
import { type Caller, findCallerAgain, tokenIdOf } from '../../projects/access.ts'
import type { OneAtATime } from '../one-at-a-time.ts'
import { readPage } from '../paging.ts'
import { toProblem } from '../problem.ts'
import type { StreamLimit } from '../stream-limit.ts'
import { toJobBody } from './job-body.ts'

/*
 * Server-sent events about jobs: https://html.spec.whatwg.org/multipage/server-sent-events.html
 *
 * PostgreSQL is asked what has changed, whichever process has changed it: nothing is missed while Redis is away.
 */

interface EventSource {
  readonly control: Database
  readonly watcher: JobWatcher
  readonly streams: StreamLimit
  /** Looks at whether lists have changed, one at a time of all streams: they are to leave connections to others. */
  readonly looks: OneAtATime
  /** Between two looks at whether a list has changed, in milliseconds. */
  readonly watchMs: number
  /**
   * How often something is sent though nothing has changed, so that nobody between takes the connection for dead, in
   * milliseconds.
   */
  readonly everyMs: number
}

interface Watching {
  readonly caller: Caller
  readonly signal: AbortSignal
  /** Ends the stream, as if there were nothing more to say. */
  readonly ending: AbortSignal
  readonly requestId: string
}

type Events = AsyncGenerator<Buffer, void, undefined>

/**
 * A job: at once, on every change, and the last time when it has ended. Before each of them, and each sign of life, it is
 * looked again whether the caller may know of the job.
 *
 * @param first the job as it is now.
 * @throws {AppError} TOO_MANY_REQUESTS before anything is sent.
 */
export async function* jobEvents(source: EventSource, watching: Watching, first: Job): Events {
  const { control, watcher, everyMs } = source
  const { signal, ending } = watching
  const release = source.streams.open(tokenIdOf(watching.caller))
  try {
    let job = first
    yield toEvent(job, watching.caller)
    while (!ENDED.has(job.status)) {
      const known = job.revision
      await watcher.change(job.id, known, { limitMs: everyMs, signal: ending })
      signal.throwIfAborted()
      if (ending.aborted) return
      const { caller, problem } = await lookAgain(control, watching)
      if (problem) return yield problem
      try {
        job = await findJob(control, caller, job.id)
      } catch (error) {
        // A job that was removed, or that the caller may not know of any more, has nothing more to say.
        if (isAppError(error, 'NOT_FOUND')) return
        throw error
      }
      yield job.revision === known ? HEARTBEAT : toEvent(job, caller)
    }
  } finally {
    release()
  }
}

/** A look that took so much time is followed by a rest of as many times that: a list of many jobs is looked at less often. */
const REST = 4

/**
 * A page of the list of jobs: at once, and on every change, without an end. `ids` are all of its jobs, in order; `items` those
 * that are new on it or have changed. Before each of them, and each sign of life, it is looked again what the caller may know of.
 *
 * @throws {AppError} TOO_MANY_REQUESTS before anything is sent.
 */
export async function* jobListEvents(source: EventSource, watching: Watching, filter: JobFilter): Events {
  const { control, watchMs, everyMs } = source
  const { signal, ending } = watching
  const release = source.streams.open(tokenIdOf(watching.caller))
  try {
    let { caller } = watching
    for (let last: Listing | undefined; ; ) {
      const page = await readListing(control, caller, filter)
      yield last && isSame(last.found, page.found) ? HEARTBEAT : toListEvent(page, last?.items ?? [], caller)
      last = page
      const visible = await jobsVisibleTo(control.prisma, caller)
      const endsAtMs = performance.now() + everyMs
      for (let restMs = watchMs; performance.now() < endsAtMs; ) {
        await delay(restMs, undefined, { signal: ending }).catch(() => undefined)
        signal.throwIfAborted()
        if (ending.aborted) return
        let tookMs = 0
        const found = await source.looks(async () => {
          const beganMs = performance.now()
          const revisions = await listRevisions(control, visible, { ...filter, limit: filter.limit + 1 })
          tookMs = performance.now() - beganMs
          return revisions
        })
        if (!isSame(page.found, found)) break
        restMs = Math.max(watchMs, REST * tookMs)
      }
      const now = await lookAgain(control, watching)
      if (now.problem) return yield now.problem
      caller = now.caller
    }
  } finally {
    release()
  }
}

/** Who the caller is by now; or what is said to one whose token does not count any more, as the last event. */
async function lookAgain(
  control: Database,
  { caller, requestId }: Watching,
): Promise<
  { readonly caller: Caller; readonly problem?: undefined } | { readonly caller?: undefined; readonly problem: Buffer }
> {
  try {
    return { caller: await findCallerAgain(control.prisma, caller) }
  } catch (error) {
    if (!isAppError(error, 'UNAUTHENTICATED')) throw error
    return { problem: Buffer.from(`event: error\ndata: ${JSON.stringify(toProblem(error, requestId))}\n\n`) }
  }
}

interface Listing {
  readonly items: readonly Job[]
  readonly next: string | null
  /** Its jobs, and the one after them. */
  readonly found: readonly Job[]
}

async function readListing(control: Database, caller: Caller, filter: JobFilter): Promise<Listing> {
  let found: readonly Job[] = []
  const find = async (limit: number): Promise<readonly Job[]> => {
    found = await listJobs(control, caller, { ...filter, limit })
    return found
  }
  return { ...(await readPage(filter, find, ({ id }) => id)), found }
}

type Revised = Pick<Job, 'id' | 'revision'>

const isSame = (before: readonly Revised[], after: readonly Revised[]): boolean =>
  before.length === after.length &&
  before.every(({ id, revision }, index) => id === after[index]?.id && revision === after[index]?.revision)

const HEARTBEAT = Buffer.from(': still there\n\n')

const toEvent = (job: Job, caller: Caller): Buffer =>
  Buffer.from(`event: job\nid: ${job.revision}\ndata: ${JSON.stringify(toJobBody(job, caller))}\n\n`)

/** @param known what the client has of the page before. */
function toListEvent({ items, next }: Listing, known: readonly Job[], caller: Caller): Buffer {
  const revisions = new Map(known.map(({ id, revision }) => [id, revision]))
  const changed = items.filter(({ id, revision }) => revisions.get(id) !== revision)
  const body = { ids: items.map(({ id }) => id), items: changed.map((job) => toJobBody(job, caller)), next }
  return Buffer.from(`event: jobs\ndata: ${JSON.stringify(body)}\n\n`)
}
