import { randomUUID } from 'node:crypto'
import type { Container } from '../container.ts'
import { Prisma } from '../database/generated/client.ts'
import type { Attempt } from '../jobs/transitions.ts'
import { createProject, deleteProject } from '../projects/projects.ts'

type ScratchServices = Pick<Container, 'control' | 'logins' | 'seal' | 'room' | 'logger'>

/** Making a hundred stages takes a while, and so does dropping what is in them. */
const PATIENT = { timeout: 10 * 60_000 }

/**
 * Lends empty projects to restore an archive into, which no list shows: each with a login of its own, so that nothing
 * in an archive can reach any other project. They are dropped when `use` has ended, and where this process dies, by the
 * next attempt of the job or by a sweep.
 *
 * @param planned the archive's projects, each with the stages that it needs.
 * @param use gets their slugs, in the same order.
 */
export async function withScratchProjects<T>(
  services: ScratchServices,
  owner: Attempt,
  planned: readonly { readonly stages: readonly { readonly slug: string }[] }[],
  use: (slugs: readonly string[]) => Promise<T>,
): Promise<T> {
  await dropEarlier(services, owner)
  const projects = planned.map(({ stages }) => ({
    slug: `scratch-${randomUUID()}`,
    stages: stages.map((stage) => stage.slug),
  }))
  const slugs = projects.map(({ slug }) => slug)
  try {
    for (const project of projects) await createScratchProject(services, owner.id, project)
    return await use(slugs)
  } finally {
    await dropWhere(services, Prisma.sql`slug = ANY (${slugs})`)
  }
}

/** If the process dies after this, the project it leaves can be recognised as a scratch project. */
export async function createScratchProject(
  { control, seal, room }: ScratchServices,
  jobId: string,
  project: { readonly slug: string; readonly stages: readonly string[] },
): Promise<void> {
  const connectionLimit = await room.limitOfNew()
  await control.prisma.$transaction(async (tx) => {
    const { id } = await createProject(tx, seal, { ...project, connectionLimit })
    await tx.project.update({ where: { id }, data: { scratchFor: jobId } })
  }, PATIENT)
}

/**
 * Drops what earlier attempts of the job have left. While this is still the job's attempt there are none of a later
 * one, which must be left alone.
 */
const dropEarlier = (services: ScratchServices, { id, attempt }: Attempt): Promise<void> =>
  dropWhere(
    services,
    Prisma.sql`scratch_for = ${id}::uuid
      AND EXISTS (SELECT FROM control.job WHERE job.id = scratch_for AND status = 'running' AND attempt = ${attempt})`,
  )

/** Drops those of jobs that nobody works on: their processes died. */
export const sweepScratchProjects = (services: ScratchServices): Promise<void> =>
  dropWhere(
    services,
    Prisma.sql`scratch_for IS NOT NULL
      AND NOT EXISTS (SELECT FROM control.job WHERE job.id = scratch_for AND status = 'running')`,
  )

async function dropWhere({ control, logins, logger }: ScratchServices, condition: Prisma.Sql): Promise<void> {
  const found = await control.prisma.$queryRaw<{ slug: string; login: string }[]>`
    SELECT slug, login FROM control.project WHERE ${condition}`
  for (const { slug, login } of found) {
    try {
      // Before its sessions are ended, so that none of them is missed.
      logins.forget(login)
      await deleteProject(control.prisma, slug, PATIENT)
    } catch (error) {
      logger.warn({ err: error, project: slug }, 'a scratch project could not be dropped; a sweep tries it again')
    }
  }
}
