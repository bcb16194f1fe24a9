import type { Queryable } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import { ROOT } from '../../projects/access.ts'
import { projectsOf } from '../authorisation.ts'
import type { Schedule } from './schedule.ts'
import { toSchedule } from './schedule-record.ts'
import { deleteSchedule, lockSchedule, type ScheduleServices } from './schedules.ts'

interface Leaving {
  /** The slugs of projects that are about to be forgotten. */
  readonly slugs: readonly string[]
  /** Whether schedules that name them are to go with them. */
  readonly deleteSchedules: boolean
  /** How long the archives stay that these have made. */
  readonly artifactDays: number
}

/**
 * Has projects forgotten, and with them what schedules say of them: a schedule that is left would run over whatever project
 * has the slug later. One that exports other projects, too, goes on with those.
 *
 * @param forget deletes or detaches them.
 * @throws {AppError} CONFLICT where schedules name them, and are not to go with them; what `forget` throws. Nothing has
 *   changed then.
 */
export async function withTheirSchedules(
  services: ScheduleServices,
  { slugs, deleteSchedules, artifactDays }: Leaving,
  forget: () => Promise<void>,
): Promise<void> {
  const { prisma } = services.control
  const found = await findNaming(prisma, slugs)
  if (found.length > 0 && !deleteSchedules) throw named(found, slugs)
  await forget()
  for (const { id } of deleteSchedules ? await findNaming(prisma, slugs) : []) {
    if (!(await leaveOut(prisma, id, slugs))) await deleteSchedule(services, ROOT, id, artifactDays)
  }
}

function named(schedules: readonly Schedule[], slugs: readonly string[]): Error {
  const names = schedules.map(({ name }) => `"${name}"`).join(', ')
  const projects = slugs.filter((slug) => schedules.some(({ asked }) => projectsOf(asked).includes(slug)))
  const [schedule, them, it] = schedules.length === 1 ? ['schedule', 'it', 'names'] : ['schedules', 'them', 'name']
  return conflict(
    `the ${schedule} ${names} ${it} ${projects.map((slug) => `"${slug}"`).join(', ')}, and would run over a later project of that ` +
      `name: delete ${them} (schedule:delete), or have ${them} go with it (--delete-schedules, or ?deleteSchedules=true)`,
    schedules.map(({ id, name }) => ({ detail: `schedule "${name}" (${id})` })),
  )
}

/** The schedules that name one of the projects. Patterns stand for what there is. */
async function findNaming(control: Queryable, slugs: readonly string[]): Promise<readonly Schedule[]> {
  const rows = await control.schedule.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
  return rows.map(toSchedule).filter(({ asked }) => projectsOf(asked).some((slug) => slugs.includes(slug)))
}

/** Takes projects out of a schedule that exports others as well. @returns false where nothing is left of it. */
const leaveOut = (
  prisma: ScheduleServices['control']['prisma'],
  id: string,
  slugs: readonly string[],
): Promise<boolean> =>
  prisma.$transaction(async (tx) => {
    await lockSchedule(tx, id)
    const row = await tx.schedule.findUnique({ where: { id } })
    if (!row) return true
    const { kind, request } = toSchedule(row).asked
    if (kind !== 'export') return false
    const projects = request.projects.filter(({ slug }) => !slugs.includes(slug))
    if (projects.length === 0 && request.patterns === undefined) return false
    await tx.schedule.update({ where: { id }, data: { request: { ...request, projects } } })
    return true
  })
