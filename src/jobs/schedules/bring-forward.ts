import type { Database } from '../../database/database.ts'
import type { Logger } from '../../logger.ts'
import { nextRun } from './cron.ts'

/** How far a schedule's next time may be behind, since the clock is corrected a little now and then, in milliseconds. */
export const CORRECTION_MS = 60 * 60_000

/**
 * Has schedules run when their cron says whose next time is later than that: where the clock was ahead when they ran, they
 * would not run again until then.
 *
 * @param now by the database's clock.
 */
export async function bringForward(
  { control: { prisma }, logger }: { readonly control: Database; readonly logger: Logger },
  now: Date,
): Promise<void> {
  const latest = new Date(now.getTime() + CORRECTION_MS)
  const rows = await prisma.schedule.findMany({
    where: { enabled: true, nextRunAt: { gt: latest } },
    select: { id: true, cron: true, timezone: true, nextRunAt: true },
  })
  for (const { id, nextRunAt, ...timing } of rows) {
    const due = nextRun(timing, latest)
    if (nextRunAt === null || nextRunAt <= due) continue
    await prisma.schedule.updateMany({
      where: { id, nextRunAt: { gt: due } },
      data: { nextRunAt: nextRun(timing, now) },
    })
    logger.warn(
      { scheduleId: id, was: nextRunAt },
      'a schedule was to run later than its cron says, as if the clock had been ahead',
    )
  }
}
