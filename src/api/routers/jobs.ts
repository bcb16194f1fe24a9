import { z } from 'zod'
import type { Container } from '../../container.ts'
import { id, slug } from '../../contract/fields.ts'
import { JOB_KINDS, JOB_STATUSES, jobSchema } from '../../contract/job.ts'
import { pageOf } from '../../contract/page.ts'
import { conflict } from '../../errors.ts'
import { ENDED } from '../../jobs/job.ts'
import { removeJob } from '../../jobs/job-artifacts.ts'
import { findJob, listJobs } from '../../jobs/read-jobs.ts'
import { requestCancel } from '../../jobs/transitions.ts'
import { type Caller, findCallerAgain } from '../../projects/access.ts'
import { assertAuthor } from '../../projects/assert-permission.ts'
import { empty, json, stream } from '../answer.ts'
import { createOneAtATime } from '../one-at-a-time.ts'
import { pageQuery, readPage } from '../paging.ts'
import { parsePrefer } from '../prefer.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { createStreamLimit, type StreamLimitOptions } from '../stream-limit.ts'
import { retryAfter, toJobBody } from './job-body.ts'
import { jobEvents, jobListEvents } from './job-events.ts'

const route = routesUnder('Jobs')

/** How long an answer is held back at most, in seconds. */
const MAX_WAIT_SECONDS = 60

const retryAfterHeader = {
  'retry-after': 'How many seconds to wait before asking again; missing once the job has ended.',
}

const listQuery = {
  ...pageQuery,
  after: id.optional(),
  status: z.enum(JOB_STATUSES).optional(),
  kind: z.enum(JOB_KINDS).optional(),
  project: slug.optional(),
  schedule: id.optional(),
}

/** An answer of server-sent events. nginx would hold them back until it has enough of them. */
const eventStream = (description: string) =>
  stream('text/event-stream', description, { 'x-accel-buffering': '`no`, so that proxies pass on each event at once.' })

const UNBUFFERED = { 'x-accel-buffering': 'no' } as const

/** Of this process; clients beyond them ask now and then. */
const STREAMS: StreamLimitOptions = { perToken: 100, inAll: 1_000 }

/** After this long a stream ends, so that who goes on is let in anew: a browser's session may have ended. */
const STREAM_MS = 10 * 60_000

const endingIn = (ending: AbortSignal): AbortSignal => AbortSignal.any([ending, AbortSignal.timeout(STREAM_MS)])

const list = route('GET /jobs', {
  operationId: 'listJobs',
  summary: 'Jobs, the newest first',
  description: 'The root token sees all; any other token sees its own, and those that it could have asked for itself.',
  access: { by: 'token' },
  query: z.object(listQuery),
  answers: { 200: json(pageOf(jobSchema), 'A page of jobs.') },
})

const listEvents = route('GET /jobs/events', {
  operationId: 'watchJobs',
  summary: 'A page of jobs at once, and again on every change, without an end',
  description:
    'Server-sent events, for the same query as `GET /jobs`. The `event` is `jobs`; its `data`, in one line, has the `ids` of all jobs of ' +
    'the page in their order, in `items` those of them that are new on it or have changed, and `next`. Where the token is revoked or ' +
    'expires, the last `event` is `error`, and its `data` the problem document. They end without one after ten minutes, and where the ' +
    'service stops: ask again.',
  access: { by: 'token' },
  query: z.object(listQuery),
  answers: { 200: eventStream('The events.') },
})

const show = route('GET /jobs/{id}', {
  operationId: 'showJob',
  summary: 'One job: its progress, and its result',
  description:
    '`Prefer: wait=N` delays the answer for up to N seconds, 60 at most, until something has changed. A failed job is ' +
    'answered with 200, too: its `status` says that it failed.',
  access: { by: 'viewer', of: 'job' },
  params: z.object({ id }),
  headers: z.object({ prefer: z.string().optional() }),
  answers: {
    200: json(jobSchema, 'The job.', {
      ...retryAfterHeader,
      'preference-applied': '`wait=N`, where it was asked for.',
    }),
  },
  quiet: true,
})

const events = route('GET /jobs/{id}/events', {
  operationId: 'watchJob',
  summary: 'The job at once, and again on every change, until it has ended',
  description:
    'Server-sent events. Each `data` is the job as `GET /jobs/{id}` has it, in one line; the `event` is `job`. Where the ' +
    'token is revoked or expires meanwhile, the last `event` is `error`, and its `data` the problem document. After ten minutes, and ' +
    'where the service stops, they end before the job does: ask again.',
  access: { by: 'viewer', of: 'job' },
  params: z.object({ id }),
  answers: { 200: eventStream('The events. They end with the job.') },
})

const cancel = route('POST /jobs/{id}/cancel', {
  operationId: 'cancelJob',
  summary: 'Cancels a job, queued or running; what it had begun is undone',
  description: 'A queued job has ended at once. A running one ends soon after: its `status` is then `cancelled`.',
  access: { by: 'author', of: 'job' },
  params: z.object({ id }),
  answers: { 202: json(jobSchema, 'The job, which ends or has ended.', retryAfterHeader) },
  errors: ['CONFLICT'],
})

const remove = route('DELETE /jobs/{id}', {
  operationId: 'deleteJob',
  summary: 'Removes a job that has ended, and the archive that it made',
  access: { by: 'author', of: 'job' },
  params: z.object({ id }),
  answers: { 204: empty('The job is gone.') },
  errors: ['CONFLICT'],
})

/** `/jobs` */
export function jobRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { control, queue, watcher, logger, jobTimings, endedJobs } = container
  const { eventsMs: everyMs, watchMs } = jobTimings
  const eventSource = {
    ...{ control, watcher, everyMs, watchMs },
    streams: createStreamLimit(STREAMS),
    looks: createOneAtATime(),
  }
  return [
    list.handle<Caller>(async ({ query, caller }) => {
      const find = (limit: number) => listJobs(control, caller, { ...query, limit })
      const { items, next } = await readPage(query, find, ({ id }) => id)
      return { status: 200, body: { items: items.map((job) => toJobBody(job, caller)), next } }
    }),
    show.handle<Caller>(async ({ params, headers, caller, ending }) => {
      const wanted = parsePrefer(headers.prefer).waitSeconds
      const waitSeconds = wanted === undefined ? undefined : Math.min(wanted, MAX_WAIT_SECONDS)
      let job = await findJob(control, caller, params.id)
      if (waitSeconds !== undefined && !ENDED.has(job.status)) {
        await watcher.change(job.id, job.revision, { limitMs: waitSeconds * 1_000, signal: ending })
        job = await findJob(control, await findCallerAgain(control.prisma, caller), params.id)
      }
      const applied = waitSeconds === undefined ? undefined : `wait=${waitSeconds}`
      return {
        status: 200,
        headers: { 'retry-after': retryAfter(job), 'preference-applied': applied },
        body: toJobBody(job, caller),
      }
    }),
    listEvents.handle<Caller>(({ query, caller, signal, ending, requestId }) => ({
      status: 200,
      headers: UNBUFFERED,
      body: jobListEvents(eventSource, { caller, signal, ending: endingIn(ending), requestId }, query),
    })),
    events.handle<Caller>(async ({ params, caller, signal, ending, requestId }) => {
      const job = await findJob(control, caller, params.id)
      return {
        status: 200,
        headers: UNBUFFERED,
        body: jobEvents(eventSource, { caller, signal, ending: endingIn(ending), requestId }, job),
      }
    }),
    cancel.handle<Caller>(async ({ params, caller }) => {
      assertAuthor(caller, (await findJob(control, caller, params.id)).createdBy, 'job')
      const job = await requestCancel(control.prisma, params.id)
      if (!job) throw conflict('the job has ended already')
      endedJobs.count(job)
      // Only tidying up: a worker that gets a cancelled job leaves it alone.
      if (job.status === 'cancelled') {
        await queue.remove(job.kind, job.id).catch((error: unknown) => {
          logger.debug({ err: error, jobId: job.id }, 'the queue still holds a cancelled job')
        })
      }
      return { status: 202, headers: { 'retry-after': retryAfter(job) }, body: toJobBody(job, caller) }
    }),
    remove.handle<Caller>(async ({ params, caller }) => {
      assertAuthor(caller, (await findJob(control, caller, params.id)).createdBy, 'job')
      await removeJob(control, params.id)
      return { status: 204 }
    }),
  ]
}
