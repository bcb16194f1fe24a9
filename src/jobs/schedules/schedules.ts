import { randomUUID } from 'node:crypto'
import type { Config } from '../../config.ts'
import { readClock } from '../../database/clock.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { Prisma } from '../../database/generated/client.ts'
import { invalidRequest, isAppError, notFound } from '../../errors.ts'
import type { Seal } from '../../lib/seal.ts'
import { type NewPing, renamePing, setPing } from '../../notifications/ping.ts'
import { readUrl } from '../../notifications/webhook-address.ts'
import { type Caller, tokenIdOf } from '../../projects/access.ts'
import { assertAuthor } from '../../projects/assert-permission.ts'
import { findProject } from '../../projects/projects.ts'
import { scheduleSubject } from '../../projects/sealed-subjects.ts'
import { assertMayRun, projectsOf } from '../authorisation.ts'
import { type Secrets, sealSecrets } from '../sealed-secrets.ts'
import { nextRun } from './cron.ts'
import type { Schedule, ScheduledRequest } from './schedule.ts'
import { readSchedule, toSchedule } from './schedule-record.ts'

export interface ScheduleServices {
  readonly control: Database
  readonly seal: Seal
  readonly config: Pick<Config, 'webhookHosts'>
}

/** What a schedule's jobs are asked for with, and the secrets of it. */
export interface Asked {
  readonly asked: ScheduledRequest
  readonly secrets: Secrets
}

type Settings = Pick<Schedule, 'name' | 'cron' | 'timezone' | 'keep' | 'alarms' | 'verify' | 'enabled'>

export type NewSchedule = Asked & Settings & { readonly ping: NewPing | null }

/** What is missing stays as it is. */
export type ScheduleChange = {
  readonly [Field in keyof Settings]?: Settings[Field] | undefined
} & {
  readonly request?: Asked | undefined
  /** Null takes it away. */
  readonly ping?: NewPing | null | undefined
}

const BATCH = 200

/**
 * Makes a schedule, whose jobs are asked for in the caller's name.
 *
 * @throws {AppError} INVALID_REQUEST where it would never be due, or its jobs make nothing that could be kept;
 *   NOT_FOUND, FORBIDDEN, as the job itself.
 */
export async function createSchedule(
  { control: { prisma }, seal, config }: ScheduleServices,
  caller: Caller,
  schedule: NewSchedule,
): Promise<Schedule> {
  await assertMaySchedule(prisma, caller, schedule)
  const due = nextRun(schedule, await readClock(prisma))
  const { name, cron, timezone, verify, enabled } = schedule
  const id = randomUUID()
  const ping = vetPing(schedule.ping, config)
  return prisma.$transaction(async (tx) => {
    const row = await tx.schedule.create({
      data: {
        ...{ id, name, cron, timezone, verify, enabled },
        ...ruleColumns(schedule),
        ...askedColumns(seal, id, schedule),
        createdBy: tokenIdOf(caller),
        nextRunAt: enabled ? due : null,
      },
    })
    if (ping) await setPing(tx, seal, { id, name }, ping)
    return toSchedule(row)
  })
}

/** @throws {AppError} NOT_FOUND, also where the caller might not ask for its job. */
export async function findSchedule(control: Queryable, caller: Caller, id: string): Promise<Schedule> {
  const schedule = await readSchedule(control, id)
  if (!isVisible(caller, schedule)) throw notFound('schedule', id)
  return schedule
}

/**
 * Finds a schedule that the caller may change, run or delete.
 *
 * @throws {AppError} NOT_FOUND as `findSchedule`; FORBIDDEN for one that runs in the name of another token.
 */
export async function findOwnSchedule(control: Queryable, caller: Caller, id: string): Promise<Schedule> {
  const schedule = await findSchedule(control, caller, id)
  assertAuthor(caller, schedule.createdBy, 'schedule')
  return schedule
}

/** Those that the caller may know of, in the order in which they were made, after the one with the id `after`. */
export async function listSchedules(
  control: Queryable,
  caller: Caller,
  page: { readonly limit: number; readonly after?: string | undefined },
): Promise<readonly Schedule[]> {
  const visible: Schedule[] = []
  let cursor = page.after
  for (;;) {
    const rows = await control.schedule.findMany({
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: BATCH,
      ...(cursor !== undefined && { cursor: { id: cursor }, skip: 1 }),
    })
    visible.push(...rows.map(toSchedule).filter((schedule) => isVisible(caller, schedule)))
    if (rows.length < BATCH || visible.length >= page.limit) return visible.slice(0, page.limit)
    cursor = rows.at(-1)?.id
  }
}

/**
 * Changes a schedule. One that is enabled again, or is due at other times now, is next due after now: what it missed
 * meanwhile is not made up for. One with another request runs in the name of the caller from now on.
 *
 * @throws {AppError} as `createSchedule`; as `findOwnSchedule`.
 */
export function changeSchedule(
  { control, seal, config }: ScheduleServices,
  caller: Caller,
  id: string,
  change: ScheduleChange,
): Promise<Schedule> {
  const ping = change.ping && vetPing(change.ping, config)
  return control.prisma.$transaction(async (tx) => {
    await lockSchedule(tx, id)
    const before = await findOwnSchedule(tx, caller, id)
    const after = {
      name: change.name ?? before.name,
      cron: change.cron ?? before.cron,
      timezone: change.timezone ?? before.timezone,
      asked: change.request?.asked ?? before.asked,
      keep: change.keep ?? before.keep,
      alarms: change.alarms ?? before.alarms,
      verify: change.verify ?? before.verify,
      enabled: change.enabled ?? before.enabled,
    }
    if (after.asked.kind !== before.asked.kind) throw invalidRequest('the kind of a schedule cannot be changed')
    await assertMaySchedule(tx, caller, after)
    const due = nextRun(after, await readClock(tx))
    const { name, cron, timezone, verify, enabled } = after
    const isDueAsBefore = before.enabled && cron === before.cron && timezone === before.timezone
    const row = await tx.schedule.update({
      where: { id },
      data: {
        ...{ name, cron, timezone, verify, enabled },
        ...ruleColumns(after),
        ...(change.request && {
          ...askedColumns(seal, id, change.request),
          createdBy: tokenIdOf(caller),
          held: Prisma.DbNull,
        }),
        nextRunAt: enabled ? (isDueAsBefore ? before.nextRunAt : due) : null,
      },
    })
    if (ping !== undefined) await setPing(tx, seal, { id, name }, ping)
    else if (name !== before.name) await renamePing(tx, { id, name })
    return toSchedule(row)
  })
}

/**
 * Deletes a schedule. A job of it that is under way goes on; the archives that it made stay for as long as those of any
 * other job.
 *
 * @param artifactDays how long that is.
 * @throws {AppError} as `findOwnSchedule`.
 */
export async function deleteSchedule(
  { control }: ScheduleServices,
  caller: Caller,
  id: string,
  artifactDays: number,
): Promise<void> {
  await control.prisma.$transaction(async (tx) => {
    await lockSchedule(tx, id)
    await findOwnSchedule(tx, caller, id)
    await tx.$executeRaw`
      WITH kept AS (
        UPDATE control.artifact SET expires_at = now() + make_interval(days => ${artifactDays}::int)
          FROM control.job
         WHERE job.id = artifact.job_id AND schedule_id = ${id}::uuid AND state = 'ready' AND artifact.expires_at IS NULL
         RETURNING job.id, artifact.expires_at)
      UPDATE control.job SET expires_at = kept.expires_at FROM kept WHERE kept.id = job.id`
    await tx.schedule.delete({ where: { id } })
  })
}

/** Claiming a due time, running by hand and changing a schedule take this lock, so that they come one by one. */
export const lockSchedule = (tx: Transaction, id: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM control.schedule WHERE id = ${id}::uuid FOR UPDATE`

async function assertMaySchedule(
  control: Queryable,
  caller: Caller,
  { asked, keep, alarms, verify }: Pick<NewSchedule, 'asked' | 'keep' | 'alarms' | 'verify'>,
): Promise<void> {
  assertMayRun(caller, asked)
  for (const slug of projectsOf(asked)) await findProject(control, slug)
  if (asked.kind === 'export') return
  const faults = [
    ...(verify ? [{ pointer: '/verify', detail: NO_ARCHIVE }] : []),
    ...(Object.keys(keep).length > 0 ? [{ pointer: '/keep', detail: NO_ARCHIVE }] : []),
    ...(Object.keys(alarms).length > 0 ? [{ pointer: '/alarms', detail: NO_ARCHIVE }] : []),
  ]
  if (faults.length > 0) throw invalidRequest('only archives can be kept, verified and watched', faults)
}

const NO_ARCHIVE = 'a transfer makes no archive'

function isVisible(caller: Caller, { asked, createdBy }: Schedule): boolean {
  // What they stand for depends on whose they are.
  if (hasPatterns(asked) && caller.kind !== 'root' && caller.tokenId !== createdBy) return false
  try {
    assertMayRun(caller, asked)
    return true
  } catch (error) {
    if (isAppError(error)) return false
    throw error
  }
}

const hasPatterns = ({ kind, request }: ScheduledRequest): boolean =>
  kind === 'export' && request.patterns !== undefined

const ruleColumns = ({ keep, alarms }: Pick<Schedule, 'keep' | 'alarms'>) => ({
  keepLast: keep.last ?? null,
  keepDays: keep.days ?? null,
  maxAgeHours: alarms.maxAgeHours ?? null,
  shrinkPercent: alarms.shrinkPercent ?? null,
})

/** @throws {AppError} as `readUrl`. */
const vetPing = (ping: NewPing | null, { webhookHosts }: ScheduleServices['config']): NewPing | null =>
  ping && { ...ping, url: readUrl(ping.url, { kind: 'ping', allowed: webhookHosts, pointer: '/ping/url' }) }

const askedColumns = (seal: Seal, id: string, { asked, secrets }: Asked) => ({
  kind: asked.kind,
  request: asked.request,
  sealedSecrets: sealSecrets(seal, secrets, scheduleSubject(id)),
})
