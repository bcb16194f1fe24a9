import { JOB_KINDS } from '../contract/job.ts'
import { QUEUE_STATES, type QueueState } from '../contract/queue.ts'
import { AppError } from '../errors.ts'
import { within } from '../lib/within.ts'
import type { Logger } from '../logger.ts'
import { createOutageLog } from '../outage-log.ts'
import { type JobKind, queueName } from './job.ts'
import type { BackendQueue, QueueBackend } from './queue-backend.ts'

/** How long a client that found no queue should wait, in seconds. */
const RETRY_AFTER_SECONDS = 5

/** How long a call to the queue may take before it counts as failed. */
const CALL_TIMEOUT_MS = 3_000

export interface JobQueueOptions {
  readonly logger: Logger
  readonly lookMs: number
}

/** Of a kind and a state. */
export interface QueueLook {
  readonly kind: JobKind
  readonly state: QueueState
  readonly count: number
  /** `addedMs`: when, in milliseconds since 1970. */
  readonly oldest: readonly { readonly id: string; readonly addedMs: number }[]
}

/** Says to the workers which jobs there are: it carries ids, and knows nothing else. */
export interface JobQueue {
  /** Puts jobs into the queue; one that is there already stays as it is. */
  notify(kind: JobKind, ids: readonly string[]): Promise<void>
  /** Takes a job out that no worker has begun with; does nothing where there is none. */
  remove(kind: JobKind, id: string): Promise<void>
  /** How many jobs wait, by kind. */
  depth(): Promise<ReadonlyMap<JobKind, number>>
  /**
   * What is in it, by kind and state: how many, and the `limit` oldest.
   *
   * @throws {AppError} QUEUE_UNAVAILABLE where it does not answer.
   */
  look(limit: number): Promise<readonly QueueLook[]>
  /** Takes an error that a worker had with the queue, for the log. */
  noteFailure(error: Error): void
  /** @throws {AppError} QUEUE_UNAVAILABLE where it does not answer. */
  assertAvailable(): Promise<void>
  close(): Promise<void>
}

const OUTAGE = {
  begins: 'the queue has trouble: jobs wait until it answers again',
  goesOn: 'the queue still has trouble',
  ends: 'the queue answers again',
}

/**
 * Opens the queue's sending side. It fails fast: what it cannot deliver, the sweep puts there again.
 *
 * @param lookMs how often it is looked, while the queue has trouble, whether that is over.
 */
export function openJobQueue(backend: QueueBackend, { logger, lookMs }: JobQueueOptions): JobQueue {
  const failures = createOutageLog({
    logger,
    words: OUTAGE,
    isOver: () => inTime(of('export').getWaitingCount()),
    everyMs: lookMs,
  })
  const queues = new Map(
    JOB_KINDS.map((kind) => {
      const queue = backend.openQueue(queueName(kind))
      queue.on('error', failures.note)
      return [kind, queue] as const
    }),
  )
  const of = (kind: JobKind): BackendQueue => {
    const queue = queues.get(kind)
    if (!queue) throw new Error(`there is no queue for ${kind}`)
    return queue
  }
  return {
    async notify(kind, ids) {
      const jobs = ids.map((id) => ({ name: kind, data: {}, opts: { jobId: id, ...OPTIONS } }))
      await inTime(of(kind).addBulk(jobs))
    },
    async remove(kind, id) {
      await inTime(of(kind).remove(id))
    },
    async depth() {
      const counts = await inTime(
        Promise.all([...queues].map(async ([kind, queue]) => [kind, await queue.getWaitingCount()] as const)),
      )
      return new Map(counts)
    },
    async look(limit) {
      try {
        return (await inTime(Promise.all([...queues].map(([kind, queue]) => lookAt(kind, queue, limit))))).flat()
      } catch (error) {
        throw unavailable('the queue cannot be reached; try again later', error)
      }
    },
    noteFailure: failures.note,
    async assertAvailable() {
      try {
        await inTime(of('export').getWaitingCount())
      } catch (error) {
        throw unavailable('the queue cannot be reached, so no job was made; try again later', error)
      }
    },
    async close() {
      failures.stop()
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()))
      await backend.close()
    },
  }
}

const unavailable = (message: string, cause: unknown): AppError =>
  new AppError('QUEUE_UNAVAILABLE', message, { cause, retryAfterSeconds: RETRY_AFTER_SECONDS })

async function lookAt(kind: JobKind, queue: BackendQueue, limit: number): Promise<readonly QueueLook[]> {
  const counts = await queue.getJobCounts(...QUEUE_STATES)
  return Promise.all(
    QUEUE_STATES.map(async (state) => {
      const entries = await queue.getJobs(state, 0, limit - 1, true)
      // An entry may be gone between the two steps of a look.
      const oldest = entries.flatMap((entry) =>
        entry?.id === undefined ? [] : [{ id: entry.id, addedMs: entry.timestamp }],
      )
      return { kind, state, count: counts[state] ?? 0, oldest }
    }),
  )
}

/** The record is what remains of a job; the queue forgets it at its end, so that it can be queued again. */
const OPTIONS = { removeOnComplete: true, removeOnFail: true }

const inTime = <T>(call: Promise<T>): Promise<T> =>
  within(CALL_TIMEOUT_MS, call, () => {
    throw new Error(`the queue did not answer within ${CALL_TIMEOUT_MS} ms`)
  })
