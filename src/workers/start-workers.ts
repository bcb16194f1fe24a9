import { DelayedError, type Job as Delivery, WaitingError } from 'bullmq'
import type { Container } from '../container.ts'
import { JOB_KINDS } from '../contract/job.ts'
import { CATALOGUE } from '../jobs/catalogue.ts'
import { queueName } from '../jobs/job.ts'
import { within } from '../lib/within.ts'
import { type Outcome, runAttempt } from './run-attempt.ts'
import { Stopped } from './stopped.ts'

/**
 * How often the queue may take a job from a silent worker. The record counts attempts; this only ends a senseless loop.
 */
const MAX_DELIVERIES = 20

export interface Workers {
  /** Takes no more jobs, lets short ones end, and gives the others back to the queue. */
  close(): Promise<void>
}

/** How long a job waits that was taken while this process stops: until it has, since it could be taken again. */
const TAKEN_TOO_LATE_MS = 1_000

/** Starts working on jobs: one worker for each kind, each on as many at once as the catalogue says. */
export async function startWorkers(services: Container): Promise<Workers> {
  const container: Container = { ...services, ...services.jobTurns }
  const { queueBackend, queue, jobTimings: timings } = container
  const stopping = new AbortController()
  const running = new Set<Promise<Outcome>>()

  // BullMQ hands over its signal only to a function of three parameters.
  const process = async (delivery: Delivery, token?: string, signal?: AbortSignal): Promise<void> => {
    // A worker that is paused may still take what has just been given back.
    if (stopping.signal.aborted) return handBack(delivery, token, { kind: 'later', delayMs: TAKEN_TOO_LATE_MS })
    const both = signal ? AbortSignal.any([stopping.signal, signal]) : stopping.signal
    const attempt = runAttempt(container, delivery.id ?? '', both)
    running.add(attempt)
    try {
      await handBack(delivery, token, await attempt)
    } finally {
      running.delete(attempt)
    }
  }

  const workers = JOB_KINDS.map((kind) => {
    const worker = queueBackend.openWorker(queueName(kind), process, {
      concurrency: CATALOGUE[kind].concurrency,
      lockDuration: timings.lockMs,
      stalledInterval: timings.stalledMs,
      maxStalledCount: MAX_DELIVERIES,
      maxStartedAttempts: MAX_DELIVERIES,
    })
    worker.on('error', queue.noteFailure)
    return worker
  })
  return {
    async close() {
      await Promise.allSettled(workers.map((worker) => worker.pause(true)))
      await within(timings.graceMs, Promise.allSettled([...running]), () => undefined)
      stopping.abort(new Stopped('shutdown'))
      await Promise.allSettled([...running])
      await Promise.allSettled(workers.map((worker) => worker.close()))
    },
  }
}

/** Updates the queue for a job. Where that fails, the queue or the sweep finds out by itself. */
async function handBack(delivery: Delivery, token: string | undefined, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'given back') {
    await delivery.moveToWait(token)
    throw new WaitingError()
  }
  if (outcome.kind === 'later') {
    await delivery.moveToDelayed(Date.now() + outcome.delayMs, token)
    throw new DelayedError()
  }
}
