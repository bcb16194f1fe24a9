import type { Container } from '../container.ts'
import { readClock } from '../database/clock.ts'
import { projectsOf } from '../jobs/authorisation.ts'
import { nextRun } from '../jobs/schedules/cron.ts'
import { toSchedule } from '../jobs/schedules/schedule-record.ts'
import { matchesPattern } from '../lib/wildcards.ts'

/**
 * Ends a recovery: from now on the service can be started, and schedules are due again. Those stay off that export or
 * transfer projects whose data is missing: their runs would push good archives out, or empty what they transfer to.
 *
 * @param incomplete slugs of these projects.
 * @returns the names of the schedules that were turned off.
 */
export const endRecovery = ({ control }: Container, incomplete: readonly string[]): Promise<readonly string[]> =>
  control.prisma.$transaction(async (tx) => {
    const now = await readClock(tx)
    const turnedOff: string[] = []
    for (const row of await tx.schedule.findMany({ where: { enabled: true }, orderBy: { name: 'asc' } })) {
      const stays = isAbout(row, incomplete)
      if (stays) turnedOff.push(row.name)
      const data = stays ? { enabled: false } : { nextRunAt: nextRun(row, now) }
      await tx.schedule.update({ where: { id: row.id }, data })
    }
    await tx.recoveredProject.deleteMany()
    await tx.installation.updateMany({ data: { recoveredFrom: null } })
    return turnedOff
  })

function isAbout(row: Parameters<typeof toSchedule>[0], slugs: readonly string[]): boolean {
  const { asked } = toSchedule(row)
  const patterns = asked.kind === 'export' ? (asked.request.patterns ?? []) : []
  const named = new Set(projectsOf(asked))
  return slugs.some((slug) => named.has(slug) || patterns.some(({ pattern }) => matchesPattern(pattern, slug)))
}
