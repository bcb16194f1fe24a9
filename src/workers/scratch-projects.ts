import { randomUUID } from 'node:crypto'
import type { Container } from '../container.ts'
import { Prisma } from '../database/generated/client.ts'
import { createProject, deleteProject } from '../projects/projects.ts'

type ScratchServices = Pick<Container, 'control' | 'logins' | 'seal' | 'logger'>

/** Making a hundred stages takes a while, and so does dropping what is in them. */
const PATIENT = { timeout: 10 * 60_000 }

/**
 * Makes empty projects to restore an archive into, which no list shows: each with a login of its own, so that nothing in
 * an archive can reach any other project. They are the job's, and last no longer than it.
 *
 * @param planned the archive's, each with the stages that it needs.
 * @returns their slugs, in the same order.
 */
export async function createScratchProjects(
  { control, seal }: ScratchServices,
  jobId: string,
  planned: readonly { readonly stages: readonly { readonly slug: string }[] }[],
): Promise<readonly string[]> {
  const slugs: string[] = []
  for (const { stages } of planned) {
    const slug = `scratch-${randomUUID()}`
    await control.prisma.$transaction(async (tx) => {
      const { id } = await createProject(tx, seal, { slug, stages: stages.map((stage) => stage.slug) })
      await tx.project.update({ where: { id }, data: { scratchFor: jobId } })
    }, PATIENT)
    slugs.push(slug)
  }
  return slugs
}

/** Drops those of a job, whichever attempt of it made them. */
export const dropScratchProjects = (services: ScratchServices, jobId: string): Promise<void> =>
  dropWhere(services, Prisma.sql`scratch_for = ${jobId}::uuid`)

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
      await control.prisma.$transaction((tx) => deleteProject(tx, slug), PATIENT)
    } catch (error) {
      logger.warn({ err: error, project: slug }, 'a scratch project could not be dropped; a sweep tries it again')
    }
  }
}
