import type { z } from 'zod'
import { JOB_KINDS } from '../contract/job.ts'
import { LISTED_ENTRIES, type queueSchema } from '../contract/queue.ts'
import type { Queryable } from '../database/database.ts'
import type { JobQueue, QueueLook } from './queue.ts'
import { countWaiting } from './transitions.ts'

interface QueueReading {
  readonly control: Queryable
  readonly queue: JobQueue
  /** For how long a worker may be silent. */
  readonly leaseMs: number
}

/** What is in the queue, beside what the records of jobs say of those that wait and run. @throws {AppError} QUEUE_UNAVAILABLE */
export async function readQueue({ control, queue, leaseMs }: QueueReading): Promise<z.output<typeof queueSchema>> {
  const [looks, waiting] = await Promise.all([queue.look(LISTED_ENTRIES), countWaiting(control, leaseMs)])
  return {
    kinds: JOB_KINDS.map((kind) => {
      const counts = countsOf(looks.filter((look) => look.kind === kind))
      const { oldestWaitingSeconds = 0, stalled = 0 } = waiting.find((each) => each.kind === kind) ?? {}
      return { kind, ...counts, oldestWaitingSeconds, stalled }
    }),
    entries: looks.flatMap(toEntries),
  }
}

function countsOf(looks: readonly QueueLook[]) {
  const of = (state: QueueLook['state']): number => looks.find((look) => look.state === state)?.count ?? 0
  return { active: of('active'), waiting: of('waiting'), delayed: of('delayed'), failed: of('failed') }
}

const toEntries = ({ kind, state, oldest }: QueueLook) =>
  oldest.map(({ id, addedMs }) => ({ jobId: id, kind, state, addedAt: new Date(addedMs).toISOString() }))
