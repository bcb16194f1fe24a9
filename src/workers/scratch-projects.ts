import { randomUUID } from 'node:crypto'
import type { Container } from '../container.ts'
import { Prisma } from '../database/generated/client.ts'
import type { Attempt } from '../jobs/transitions.ts'
import type { NewExtension } from '../projects/own-database/own-databases.ts'
import { deleteOwnProject, makeOwnProject, type OwnProjectServices } from '../projects/own-database/own-project.ts'
import { createProject, deleteProject, findProject } from '../projects/projects.ts'

type ScratchServices = OwnProjectServices & Pick<Container, 'control' | 'logins' | 'room'>

/** A project that an archive is restored into. */
export interface ScratchProject {
  readonly stages: readonly { readonly slug: string }[]
  /** What it has in a database of its own; undefined where it shares that of all projects. */
  readonly own?: OwnScratch | undefined
}

export interface OwnScratch {
  /** The schemas of its stages, in their order. */
  readonly schemas: readonly string[]
  /** What the archive needs, each in the schema that it was in, and behind those that it needs. */
  readonly extensions: readonly NewExtension[]
}

/** Making a hundred stages takes a while, and so does dropping what is in them. */
const PATIENT = { timeout: 10 * 60_000 }

/**
 * Lends empty projects to restore an archive into, which no list shows: each with a login of its own, so that nothing
 * in an archive can reach any other project; also one with a database of its own, which no other login enters. They are dropped when `use` has ended, and where this process dies, by the
 * next attempt of the job or by a sweep.
 *
 * @param planned the archive's projects, each with the stages that it needs.
 * @param use gets their slugs, in the same order.
 */
export async function withScratchProjects<T>(
  services: ScratchServices,
  owner: Attempt,
  planned: readonly ScratchProject[],
  use: (slugs: readonly string[]) => Promise<T>,
): Promise<T> {
  await dropEarlier(services, owner)
  const projects = planned.map((project) => ({ ...project, slug: `scratch-${randomUUID()}` }))
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
  services: ScratchServices,
  jobId: string,
  { slug, stages, own }: ScratchProject & { readonly slug: string },
): Promise<void> {
  const { control, seal, room } = services
  const connectionLimit = await room.limitOfNew()
  if (own) {
    const placed = stages.map((stage, index) => ({ slug: stage.slug, schema: own.schemas[index] ?? stage.slug }))
    const { extensions } = own
    await makeOwnProject(services, {
      ...{ slug, connectionLimit, extensions, stages: placed, logEvents: false, scratchFor: jobId },
    })
    return
  }
  await control.prisma.$transaction(async (tx) => {
    const slugs = stages.map((stage) => stage.slug)
    const { id } = await createProject(tx, seal, { slug, stages: slugs, connectionLimit })
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

async function dropWhere(services: ScratchServices, condition: Prisma.Sql): Promise<void> {
  const { control, logins, logger } = services
  // One that is being made, or dropped, is left to the sweep of databases.
  const found = await control.prisma.$queryRaw<{ slug: string; login: string }[]>`
    SELECT slug, login FROM control.project WHERE NOT unfinished AND ${condition}`
  for (const { slug, login } of found) {
    try {
      // Before its sessions are ended, so that none of them is missed.
      logins.forget(login)
      const project = await findProject(control.prisma, slug)
      if (project.location === 'own') await deleteOwnProject(services, project)
      else await deleteProject(control.prisma, slug, PATIENT)
    } catch (error) {
      logger.warn({ err: error, project: slug }, 'a scratch project could not be dropped; a sweep tries it again')
    }
  }
}
