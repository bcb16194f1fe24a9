import { hostname } from 'node:os'
import type { AttemptOutcome } from '../contract/job.ts'
import { Prisma } from '../database/generated/client.ts'
import type { JobError } from './job.ts'

/*
 * The log of a job's attempts, in the job's own record: it is written by the statement that begins or ends an attempt, or not
 * at all.
 */

/** How many attempts of a job are remembered: one that waits for room may have any number of them. */
const MAX_LOGGED = 20

const THIS_PROCESS = `${hostname()}:${process.pid}`

/** The log with the attempt that begins now, for an UPDATE that raises `attempt` by one. */
export const withBegunAttempt = (): Prisma.Sql => Prisma.sql`
  jsonb_path_query_array(attempts, ${`$[last - ${MAX_LOGGED - 2} to last]`}::jsonpath)
    || jsonb_build_array(jsonb_build_object('number', attempt + 1, 'worker', ${THIS_PROCESS}::text, 'startedAt', now()))`

/**
 * The log with the end of the running attempt, for an UPDATE of its job. It stays as it is where it does not have that
 * attempt, since a process of an earlier version began it.
 */
export function withEndedAttempt(outcome: AttemptOutcome, error?: JobError): Prisma.Sql {
  const said = error === undefined ? null : JSON.stringify({ code: error.code, detail: error.detail })
  return Prisma.sql`
    CASE WHEN (attempts->-1->>'number')::int = attempt
         THEN jsonb_set(attempts, '{-1}', attempts->-1 ||
                jsonb_build_object('endedAt', now(), 'outcome', ${outcome}::text, 'error', ${said}::jsonb))
         ELSE attempts END`
}
