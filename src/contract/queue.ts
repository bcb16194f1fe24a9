import { z } from 'zod'
import { count, id, timeText } from './fields.ts'
import { JOB_KINDS } from './job.ts'

/** What the queue says of an entry. `failed` are those that it let go of; their jobs are put there again. */
export const QUEUE_STATES = ['active', 'waiting', 'delayed', 'failed'] as const

export type QueueState = (typeof QUEUE_STATES)[number]

/** How many entries of each state and kind are listed. */
export const LISTED_ENTRIES = 20

/** What is in the queue, which carries ids from the interface to workers. */
export const queueSchema = z
  .object({
    kinds: z.array(
      z.object({
        kind: z.enum(JOB_KINDS),
        ...{ active: count, waiting: count, failed: count },
        delayed: count.meta({ description: 'To be tried again later.' }),
        oldestWaitingSeconds: z
          .number()
          .nonnegative()
          .meta({ description: 'Since when the job waits that was asked for first; 0 where none does.' }),
        stalled: count.meta({
          description: 'Running jobs whose worker has not been heard of for as long as a worker may be silent.',
        }),
      }),
    ),
    entries: z
      .array(
        z.object({
          jobId: id,
          kind: z.enum(JOB_KINDS),
          state: z.enum(QUEUE_STATES),
          addedAt: timeText,
        }),
      )
      .meta({ description: `The ${LISTED_ENTRIES} oldest of each kind and state.` }),
  })
  .meta({ id: 'Queue', description: 'What is in the queue, and which jobs wait.' })
