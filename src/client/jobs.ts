import { setTimeout as delay } from 'node:timers/promises'
import type { Job } from './archives.ts'
import { type Connection, pathOf, unreachable } from './connection.ts'
import { mayPass, toWharfError, WharfError } from './error.ts'
import { type ListChange, readEvents, withChanges } from './event-stream.ts'
import type { operations } from './generated/api.ts'

/** How long the service delays an answer until something has changed. */
const WAIT_SECONDS = 20

/** How long a service may be away before it is given up, in milliseconds. */
const PATIENCE_MS = 120_000
const PAUSE_MS = 1_000

export interface WaitOptions {
  /** Called with the job at once, and with every change: `job.progress` has rows, bytes and percent. */
  readonly onProgress?: (job: Job) => void
  /** Ends the waiting; the job goes on, see `cancel`. */
  readonly signal?: AbortSignal
}

/** What is asked of a job: itself, or its id. */
export type JobReference = string | Pick<Job, 'id'>

export const idOf = (job: JobReference): string => (typeof job === 'string' ? job : job.id)

/** Which jobs, as `GET /jobs` takes it. */
export type JobQuery = NonNullable<operations['listJobs']['parameters']['query']>

export interface Jobs {
  /**
   * The newest jobs, the newest first: at once, and again whenever something about them has changed, within a second. It ends after
   * ten minutes, and where the service stops: call it again then.
   *
   * @throws {WharfError} what `GET /jobs/events` refuses, UNREACHABLE where the connection breaks.
   */
  readonly watchJobs: (
    query?: JobQuery,
    options?: { readonly signal?: AbortSignal },
  ) => AsyncGenerator<readonly Job[], void, undefined>
  /**
   * Waits until a job has succeeded. A service that restarts, or a connection that breaks, is waited for up to two minutes.
   *
   * @throws {WharfError} with the code and reason of a job that failed, or JOB_CANCELLED; what `GET /jobs/{id}` refuses.
   */
  readonly waitFor: (job: JobReference, options?: WaitOptions) => Promise<Job>
  /** Cancels a job, queued or running. What it had begun is undone. @throws {WharfError} CONFLICT where it has ended. */
  readonly cancel: (job: JobReference) => Promise<Job>
}

export function createJobs(connection: Connection): Jobs {
  return {
    async *watchJobs(query = {}, { signal } = {}) {
      const search = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
      )
      const { body } = await connection.send(`/jobs/events?${search}`, { signal })
      let jobs: readonly Job[] = []
      try {
        for await (const { name, data } of readEvents(body ?? new ReadableStream())) {
          if (name !== 'jobs') throw await toWharfError(new Response(data, { status: 401 }))
          jobs = withChanges(jobs, JSON.parse(data) as ListChange<Job>)
          yield jobs
        }
      } catch (error) {
        signal?.throwIfAborted()
        throw error instanceof WharfError ? error : unreachable(error)
      }
    },
    async waitFor(reference, { onProgress, signal } = {}) {
      const path = pathOf`/jobs/${idOf(reference)}`
      let seen: string | undefined
      for (let lostSince: number | undefined; ; ) {
        try {
          // The first answer comes at once, so that progress is seen from the beginning.
          const prefer = seen === undefined ? undefined : `wait=${WAIT_SECONDS}`
          const job = (await (await connection.send(path, { headers: { prefer }, signal })).json()) as Job
          lostSince = undefined
          const text = JSON.stringify(job)
          if (text !== seen) onProgress?.(job)
          seen = text
          if (job.status === 'succeeded') return job
          if (job.status === 'failed' || job.status === 'cancelled') throw failureOf(job)
        } catch (error) {
          lostSince ??= performance.now()
          if (!mayPass(error) || performance.now() - lostSince > PATIENCE_MS) throw error
          await delay(error.retryAfterSeconds ? error.retryAfterSeconds * 1_000 : PAUSE_MS, undefined, { signal })
        }
      }
    },
    cancel: async (reference) =>
      (await (await connection.send(pathOf`/jobs/${idOf(reference)}/cancel`, { method: 'POST' })).json()) as Job,
  }
}

function failureOf({ id, error }: Job): WharfError {
  if (error === null) return new WharfError(`the job ${id} was cancelled`, { code: 'JOB_CANCELLED' })
  return new WharfError(error.detail, { code: error.code, errors: error.errors })
}
