import type { Dispatcher } from 'undici'
import type { z } from 'zod'
import { id } from '../../contract/fields.ts'
import { fromServer } from '../../contract/from-server.ts'
import { jobSchema } from '../../contract/job.ts'
import { AppError } from '../../errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readText } from '../../lib/read-text.ts'
import { rethrowing } from '../../lib/rethrowing.ts'
import { persist } from './patience.ts'
import { otherAnswer, remoteFailed } from './remote-failure.ts'
import type { RemoteServer } from './remote-server.ts'

/*
 * A job that another server does for a transfer.
 */

const MAX_ANSWER_BYTES = 1024 * 1024
/** How long the server is asked to wait for a change. */
const WAIT_SECONDS = 20
/** How long it may say nothing before the connection is taken for lost. */
export const SILENT_MS = 90_000

const shown = fromServer(jobSchema.pick({ id: true, status: true, error: true, progress: true, result: true }))
export type RemoteJob = z.output<typeof shown>

/** @throws {AppError} REMOTE_FAILED where the answer shows no job. */
export async function readJob(server: RemoteServer, body: Dispatcher.ResponseData['body']): Promise<RemoteJob> {
  const text = await readText(rethrowing(body, server.toFailure), MAX_ANSWER_BYTES)
  const job = shown.safeParse(parseJson(text)).data
  if (!job || !id.safeParse(job.id).success) throw otherAnswer(server.origin)
  return job
}

/**
 * Waits until a job has ended, in whatever way.
 *
 * @param queuedMs how long it may wait for a worker there.
 * @returns the job; undefined where no worker takes it.
 * @throws {AppError} REMOTE_FAILED
 */
export async function waitForJob(
  server: RemoteServer,
  job: RemoteJob,
  options: {
    readonly queuedMs: number
    readonly onProgress: (progress: RemoteJob['progress']) => void
    readonly signal: AbortSignal
  },
): Promise<RemoteJob | undefined> {
  const { queuedMs, onProgress, signal } = options
  const askedMs = performance.now()
  for (let seen = job; ; ) {
    onProgress(seen.progress)
    if (seen.status !== 'queued' && seen.status !== 'running') return seen
    const restMs = queuedMs - (performance.now() - askedMs)
    if (seen.status === 'queued' && restMs <= 0) return undefined
    const seconds =
      seen.status === 'queued' ? Math.min(WAIT_SECONDS, Math.max(1, Math.ceil(restMs / 1_000))) : WAIT_SECONDS
    seen = await persist(async () => {
      const { body } = await server.call({
        path: `/jobs/${job.id}`,
        headers: { prefer: `wait=${seconds}` },
        silentMs: SILENT_MS,
      })
      return readJob(server, body)
    }, signal)
  }
}

/** Cancels or removes something, unless it has ended, or is gone. */
export async function letGo(server: RemoteServer, method: 'POST' | 'DELETE', path: string): Promise<void> {
  const { body } = await server.call({ method, path, statuses: [200, 202, 204, 404, 409] })
  await body.dump()
}

/** What another server says is taken for a number only where it is one. */
export function rowsOf(progress: RemoteJob['progress']): { readonly rows: number; readonly rowsTotal: number | null } {
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
  const { rows, rowsTotal } = progress ?? {}
  return { rows: isCount(rows) ? rows : 0, rowsTotal: isCount(rowsTotal) ? rowsTotal : null }
}

const MAX_DETAIL = 2_000
const MAX_FAULTS = 100

/** Why a job there came to nothing. @param what it was, e.g. `export`. */
export function failureOf(server: RemoteServer, what: string, { status, error }: RemoteJob): AppError {
  if (!error) return remoteFailed(server.origin, `the ${what} there is ${status}`)
  const faults = error.errors.filter(({ detail }) => detail.length <= MAX_DETAIL).slice(0, MAX_FAULTS)
  const failure = remoteFailed(server.origin, `it says: ${error.detail.slice(0, MAX_DETAIL)}`)
  if (error.code !== 'INCOMPLETE') return failure
  return new AppError('INCOMPLETE', failure.message, { faults: faults.map(({ detail }) => ({ detail })) })
}
