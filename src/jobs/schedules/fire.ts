import type { Transaction } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import type { Caller } from '../../projects/access.ts'
import { scheduleSubject } from '../../projects/sealed-subjects.ts'
import { projectsOf } from '../authorisation.ts'
import type { Job } from '../job.ts'
import { unsealSecrets } from '../sealed-secrets.ts'
import { notifyWorkers, recordJob, type SubmitServices } from '../submit.ts'
import { noteLate, noteSkipped } from './alarms.ts'
import { nextRun } from './cron.ts'
import type { Schedule } from './schedule.ts'
import { toSchedule } from './schedule-record.ts'
import { findOwnSchedule, lockSchedule } from './schedules.ts'

/** How many are fired at a time; the others have their turn right after. */
const MAX_DUE = 100

/**
 * Makes a job for each schedule that is due, and says when it is due next. Any number of processes may do so at once:
 * the one that moves a schedule's next time on has claimed this one, in the transaction that records its job.
 *
 * A schedule that missed times while nobody looked runs once for all of them. One whose run before has not ended is
 * skipped, which is recorded.
 *
 * BullMQ's own job schedulers are not used: they run nothing that was missed, and start a job that crashes its worker
 * for ever.
 *
 * @param now by the database's clock.
 * @returns the jobs that this call has made.
 */
export async function fireDue(services: SubmitServices, now: Date): Promise<readonly Job[]> {
  const { control, queue, logger } = services
  const due = await control.prisma.schedule.findMany({
    where: { nextRunAt: { lte: now } },
    orderBy: { nextRunAt: 'asc' },
    take: MAX_DUE,
  })
  const jobs: Job[] = []
  for (const row of due) {
    try {
      const job = await fire(services, toSchedule(row), now)
      if (job) jobs.push(job)
    } catch (error) {
      logger.error({ err: error, scheduleId: row.id }, 'a schedule that is due could not be run; it is tried again')
    }
  }
  for (const job of jobs) await notifyWorkers(queue, job, logger)
  return jobs
}

function fire(services: SubmitServices, schedule: Schedule, now: Date): Promise<Job | undefined> {
  const { id: scheduleId, nextRunAt: dueAt } = schedule
  if (!dueAt) return Promise.resolve(undefined)
  return services.control.prisma.$transaction(async (tx) => {
    const claimed = await tx.schedule.updateMany({
      where: { id: scheduleId, nextRunAt: dueAt },
      data: { nextRunAt: nextRun(schedule, now) },
    })
    if (claimed.count === 0) return undefined
    // Where the clock was put back, a time may come again: it has had its run.
    const created = await tx.scheduleRun.createMany({ data: { scheduleId, dueAt }, skipDuplicates: true })
    if (created.count === 0) return undefined
    const where = { scheduleId_dueAt: { scheduleId, dueAt } }
    const running = await findRunning(tx, scheduleId)
    if (running) {
      await tx.scheduleRun.update({ where, data: { outcome: 'skipped', finishedAt: now } })
      await noteSkipped(tx, scheduleId, dueAt)
      services.logger.warn({ scheduleId, dueAt, jobId: running }, 'a scheduled run was skipped: the one before goes on')
      return undefined
    }
    const job = await recordRun(tx, services, schedule)
    await tx.scheduleRun.update({ where, data: { jobId: job.id } })
    await noteLate(tx, scheduleId, { dueAt, now })
    return job
  })
}

/**
 * Runs a schedule now, whether it is enabled or not.
 *
 * @throws {AppError} as `findOwnSchedule`; CONFLICT while a run of it is under way.
 */
export async function runNow(services: SubmitServices, caller: Caller, scheduleId: string): Promise<Job> {
  const { control, queue, logger } = services
  await queue.assertAvailable()
  const job = await control.prisma.$transaction(async (tx) => {
    await lockSchedule(tx, scheduleId)
    const schedule = await findOwnSchedule(tx, caller, scheduleId)
    const running = await findRunning(tx, scheduleId)
    if (running) throw conflict(`a run of this schedule is under way: job ${running}; wait for it, or cancel it`)
    const recorded = await recordRun(tx, services, schedule)
    await tx.$executeRaw`
      INSERT INTO control.schedule_run (schedule_id, due_at, by_hand, job_id)
      VALUES (${scheduleId}::uuid, clock_timestamp(), true, ${recorded.id}::uuid)`
    return recorded
  })
  await notifyWorkers(queue, job, logger)
  return job
}

async function findRunning(tx: Transaction, scheduleId: string): Promise<string | undefined> {
  const where = { scheduleId, status: { in: ['queued', 'running'] } }
  return (await tx.job.findFirst({ where, select: { id: true } }))?.id
}

/** In the name of the token that the schedule belongs to. What that may not do today makes the job fail, and say so. */
async function recordRun(tx: Transaction, { seal }: SubmitServices, schedule: Schedule): Promise<Job> {
  const { id, asked, createdBy } = schedule
  const projects = await tx.project.findMany({ where: { slug: { in: [...projectsOf(asked)] } }, select: { id: true } })
  const { sealedSecrets } = await tx.schedule.findUniqueOrThrow({ where: { id }, select: { sealedSecrets: true } })
  const secrets = unsealSecrets(seal, sealedSecrets, scheduleSubject(id))
  const newJob = { request: asked, createdBy, scheduleId: id, secrets }
  return recordJob(
    tx,
    seal,
    newJob,
    projects.map((project) => project.id),
  )
}
