import { z } from 'zod'
import type { Container } from '../../container.ts'
import { jobSchema } from '../../contract/job.ts'
import { type Idempotency, type NewJob, submitJob } from '../../jobs/submit.ts'
import { json } from '../answer.ts'
import { jobPath, toJobBody } from './job-body.ts'

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/

/** The headers of a call that makes a job. */
export const asyncHeaders = {
  prefer: z.string().optional().meta({ description: '`respond-async` asks for a job instead of the result.' }),
  'idempotency-key': z
    .string()
    .regex(IDEMPOTENCY_KEY, { error: 'must be 1 to 200 visible ASCII characters' })
    .optional()
    .meta({ description: 'The same key within 24 hours gives the same job, however often the request is sent.' }),
}

/** The answer of a call that has made one. */
export const accepted = json(jobSchema, 'The job, which goes on by itself.', {
  location: 'Path of the job.',
  'preference-applied': '`respond-async`, where it was asked for.',
  'retry-after': 'How many seconds to wait before asking about the job.',
})

export const idempotencyOf = (
  headers: { readonly 'idempotency-key'?: string | undefined },
  hash: () => Buffer,
): Idempotency | undefined => {
  const key = headers['idempotency-key']
  return key === undefined ? undefined : { key, hash: hash() }
}

/** Makes the job, and answers with it. */
export async function acceptJob(
  container: Container,
  newJob: NewJob,
  { isPreferred }: { readonly isPreferred: boolean },
) {
  const job = await submitJob(container, newJob)
  return {
    status: 202,
    headers: {
      location: jobPath(job),
      'preference-applied': isPreferred ? 'respond-async' : undefined,
      'retry-after': '1',
    },
    body: toJobBody(job),
  } as const
}
