import { expect } from 'vitest'
import { z } from 'zod'
import { fireDue } from '../../../src/jobs/schedules/fire.ts'
import { settleRuns } from '../../../src/jobs/schedules/settle.ts'
import { eventually } from '../eventually.ts'
import type { ApiAnswer, ApiClient } from '../http/api-client.ts'
import type { TestWharf } from '../service/wharf.ts'

const runSchema = z.looseObject({ dueAt: z.string(), jobId: z.string().nullable(), status: z.string() })

const scheduleSchema = z.looseObject({
  id: z.string(),
  nextRunAt: z.string().nullable(),
  lastRun: runSchema.nullable(),
  runs: z.array(runSchema).default([]),
})

export type SeenSchedule = z.infer<typeof scheduleSchema>

/** Asks for a schedule that exports the project every night, unless something else is said. */
export const askSchedule = (
  client: ApiClient,
  slug: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<ApiAnswer> =>
  client.post('/schedules', {
    json: { name: `${slug} at night`, cron: '@daily', kind: 'export', request: { projects: [{ slug }] }, ...fields },
  })

export function scheduleOf(answer: ApiAnswer): SeenSchedule {
  expect([200, 201], answer.text).toContain(answer.status)
  return scheduleSchema.parse(answer.json)
}

export const makeSchedule = async (...args: Parameters<typeof askSchedule>): Promise<SeenSchedule> =>
  scheduleOf(await askSchedule(...args))

export const showSchedule = async (client: ApiClient, { id }: SeenSchedule): Promise<SeenSchedule> =>
  scheduleOf(await client.get(`/schedules/${id}`))

/**
 * Makes a schedule overdue since `days` ago. All that it has made is older than it allows, so that no sweep takes it back.
 * @returns what takes it back.
 */
export async function makeOverdue(
  { database }: TestWharf,
  { id }: SeenSchedule,
  days = 0,
): Promise<() => Promise<void>> {
  await database.query(
    `WITH aged AS (
       UPDATE control.schedule_run AS run SET finished_at = at, proven_at = CASE WHEN verify OR proven_at IS NOT NULL THEN at END
         FROM control.schedule CROSS JOIN (SELECT now() - interval '9 days' AS at) AS moment
        WHERE schedule.id = schedule_id AND schedule_id = $1 AND outcome = 'succeeded')
     UPDATE control.schedule SET overdue_since = now() - make_interval(days => $2), max_age_hours = 1, created_at = now() - interval '9 days'
      WHERE id = $1`,
    [id, days],
  )
  return async () => {
    await database.query('UPDATE control.schedule SET overdue_since = NULL, max_age_hours = NULL WHERE id = $1', [id])
  }
}

/** The time `days` after the schedule is due next, or before it. */
export function afterDue({ nextRunAt }: SeenSchedule, days = 0): Date {
  if (nextRunAt === null) throw new Error('the schedule is not due')
  return new Date(Date.parse(nextRunAt) + days * 24 * 60 * 60_000)
}

/**
 * Lets a schedule be due, by a clock that is ahead of the real one, and waits until its run has ended and is settled.
 */
export async function runWhenDue(wharf: TestWharf, schedule: SeenSchedule, patienceMs?: number): Promise<SeenSchedule> {
  const now = afterDue(await showSchedule(wharf.root, schedule))
  await fireDue(wharf.container, now)
  return untilSettled(wharf, schedule, now, patienceMs)
}

/** Waits until the last run has ended, and settles it. */
export async function untilSettled(
  wharf: TestWharf,
  schedule: SeenSchedule,
  now = new Date(),
  patienceMs?: number,
): Promise<SeenSchedule> {
  await eventually(async () => (await showSchedule(wharf.root, schedule)).lastRun?.status, patienceMs).toMatch(
    /succeeded|failed|cancelled|skipped/,
  )
  await settleRuns(wharf.container, now)
  return showSchedule(wharf.root, schedule)
}

/**
 * Everything that a restore could leave behind. Logins are the cluster's: those that can connect to this database
 * count.
 */
export const restoreTraces = async ({ database }: TestWharf): Promise<unknown> => ({
  projects: await database.query('SELECT slug FROM control.project ORDER BY 1'),
  logins: await database.query(
    `SELECT DISTINCT rolname FROM pg_roles JOIN pg_shdepend ON refobjid = pg_roles.oid
      WHERE classid = 'pg_database'::regclass
        AND objid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1`,
  ),
  schemas: await database.query(`SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp' ORDER BY 1`),
  stages: await database.query('SELECT stage_id FROM system.stage_state ORDER BY 1'),
})
