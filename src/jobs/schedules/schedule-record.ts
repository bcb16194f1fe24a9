import { z } from 'zod'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Schedule as Row } from '../../database/generated/client.ts'
import { notFound } from '../../errors.ts'
import { parseRequest } from '../catalogue.ts'
import type { JobKind } from '../job.ts'
import type { Schedule, ScheduledRequest } from './schedule.ts'

/** @throws {Error} where another version of Wharf wrote what this one doesn't know. */
export function toSchedule(row: Row): Schedule {
  const { id, name, cron, timezone, keepLast, keepDays, verify, enabled, createdBy, createdAt, nextRunAt } = row
  const { maxAgeHours, shrinkPercent, overdueSince } = row
  const keep = { ...(keepLast !== null && { last: keepLast }), ...(keepDays !== null && { days: keepDays }) }
  const alarms = { ...(maxAgeHours !== null && { maxAgeHours }), ...(shrinkPercent !== null && { shrinkPercent }) }
  const asked = toScheduledRequest(row.kind, row.request)
  return {
    ...{ id, name, cron, timezone, asked, keep, alarms, verify, enabled },
    ...{ createdBy, createdAt, nextRunAt, overdueSince },
  }
}

function toScheduledRequest(kind: string, request: unknown): ScheduledRequest {
  const asked = parseRequest(kind as JobKind, request)
  if (asked.kind === 'import') throw new Error('an import cannot be done again and again')
  return asked
}

/** Reads a schedule without checking permissions. @throws {AppError} NOT_FOUND */
export async function readSchedule(control: Queryable, id: string): Promise<Schedule> {
  const row = await control.schedule.findUnique({ where: { id } })
  if (!row) throw notFound('schedule', id)
  return toSchedule(row)
}

/** The schedule that a job is a run of; undefined where it is none's, or not any more. */
export async function findScheduleOf(
  control: Queryable,
  { scheduleId }: { readonly scheduleId: string | null },
): Promise<Schedule | undefined> {
  const row = scheduleId === null ? null : await control.schedule.findUnique({ where: { id: scheduleId } })
  return row ? toSchedule(row) : undefined
}

const heldSchema = z.array(z.object({ id: z.string(), slug: z.string() }))

/** A project that a run has exported, as it was called then. */
export type HeldProject = Readonly<z.output<typeof heldSchema>[number]>

/**
 * The projects that a schedule's patterns stood for in its last run that succeeded.
 *
 * @returns undefined where there was none.
 */
export async function readHeld(
  control: Queryable,
  scheduleId: string | null,
): Promise<readonly HeldProject[] | undefined> {
  const row = scheduleId === null ? null : await control.schedule.findUnique({ where: { id: scheduleId } })
  return heldSchema.safeParse(row?.held).data
}

/** Records them, in the transaction that makes the run's result visible. */
export const recordHeld = (
  tx: Transaction,
  scheduleId: string | null,
  projects: readonly HeldProject[],
): Promise<unknown> =>
  tx.$executeRaw`
    UPDATE control.schedule SET held = ${JSON.stringify(projects)}::jsonb WHERE id = ${scheduleId}::uuid`

/** Records that an archive was restored, and that what was restored was the same. */
export const markProven = (tx: Transaction, artifactId: string): Promise<unknown> =>
  tx.$executeRaw`UPDATE control.artifact SET proven_at = now() WHERE id = ${artifactId}::uuid`
