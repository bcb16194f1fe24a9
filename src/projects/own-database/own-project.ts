import { randomUUID } from 'node:crypto'
import type { Database, Transaction } from '../../database/database.ts'
import type { Seal } from '../../lib/seal.ts'
import type { Logger } from '../../logger.ts'
import { switchLog } from '../attached/log-stage.ts'
import { closeLogin, createClosedLogin, dropProjectLogin, openLogin, reopenLogins } from '../project-login.ts'
import {
  findProject,
  forgetProject,
  lockProject,
  type NewProject,
  newLogin,
  type Project,
  recordProject,
  toLoginData,
} from '../projects.ts'
import type { FindProjectDatabase } from '../stage-database.ts'
import { recordExternalStage } from '../stages.ts'
import type { NewExtension, OwnDatabases } from './own-databases.ts'
import { schemaOfStage } from './own-stages.ts'

export interface OwnProjectServices {
  readonly control: Pick<Database, 'prisma'>
  readonly seal: Seal
  readonly ownDatabases: OwnDatabases
  readonly projectDatabase: FindProjectDatabase
  readonly logger: Logger
}

/** A server copies a template for a while, and forces what it has in memory to disk before. */
const PATIENT = { timeout: 10 * 60_000 }

/**
 * Creates a project with a database of its own, in which its first stage is the schema `public` and event logs are kept.
 *
 * @throws {AppError} CONFLICT where the slug is taken, or the name of a stage cannot be that of a schema;
 *   DATABASE_UNSUITABLE where Wharf's login may not create logins or databases.
 */
export async function createOwnProject(
  services: OwnProjectServices,
  { stages, ...project }: NewProject,
): Promise<Project> {
  const planned = stages.map((slug, index) => ({ slug, schema: index === 0 ? 'public' : schemaOfStage(slug) }))
  return makeOwnProject(services, { ...project, stages: planned, logEvents: true })
}

/** A project that is going to have a database of its own. */
export interface NewOwnProject extends Pick<NewProject, 'slug' | 'connectionLimit'> {
  readonly stages: readonly { readonly slug: string; readonly schema: string }[]
  readonly logEvents: boolean
  readonly extensions?: readonly NewExtension[]
  /** The job that restores its archive into it, where it is one of nobody's. */
  readonly scratchFor?: string
}

/**
 * Makes a project, and its database.
 *
 * A database cannot be made, or dropped, in a transaction. So the project is recorded as unfinished first, and hidden as
 * long as it is; where this process dies, `sweepOwnProjects` drops what there is of it.
 *
 * @throws {AppError} CONFLICT where the slug is taken; DATABASE_UNSUITABLE.
 */
export async function makeOwnProject(
  services: OwnProjectServices,
  { slug, stages, connectionLimit, logEvents, extensions = [], scratchFor }: NewOwnProject,
): Promise<Project> {
  const { control, seal, ownDatabases, logger } = services
  await ownDatabases.assertMayMake()
  const id = randomUUID()
  const login = newLogin(id)
  const project = { id, slug, login: login.name, ownDatabase: login.name }
  await control.prisma.$transaction(async (tx) => {
    await recordProject(tx, {
      ...{ id, slug, ...toLoginData(seal, id, login) },
      ...{ ownDatabase: project.ownDatabase, unfinished: true, ...(scratchFor !== undefined && { scratchFor }) },
    })
    await createClosedLogin(tx, login, connectionLimit)
  })
  try {
    const made = await control.prisma.$transaction(async (tx) => {
      await lockProject(tx, project)
      const schemas = stages.map(({ schema }) => schema)
      await ownDatabases.make({ name: project.ownDatabase, login: login.name, schemas, extensions })
      for (const stage of stages) await recordExternalStage(tx, project, stage)
      await openLogin(tx, login.name)
      await tx.project.update({ where: { id }, data: { unfinished: false } })
      return findProject(tx, slug)
    }, PATIENT)
    if (!logEvents) return made
    for (const stage of stages) await switchLog(services, made, { slug: stage.slug, logEvents })
    return await findProject(control.prisma, slug)
  } catch (error) {
    await remove(services, project).catch((err: unknown) =>
      logger.warn({ err, slug }, 'a project that could not be made is dropped later'),
    )
    throw error
  }
}

/**
 * Deletes a project with its database.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where the database is held by something that Wharf's login may not end: nothing
 *   has changed then.
 */
export async function deleteOwnProject(services: OwnProjectServices, { id, slug, login }: Project): Promise<void> {
  const { prisma } = services.control
  const { ownDatabase } = await prisma.project.findUniqueOrThrow({ where: { id }, select: { ownDatabase: true } })
  try {
    await prisma.project.update({ where: { id }, data: { unfinished: true } })
    await closeLogin(prisma, login)
    await remove(services, { id, slug, login, ownDatabase })
  } catch (error) {
    await Promise.allSettled([undoDeletion(prisma, id).then(() => reopenLogins(prisma, slug))])
    throw error
  }
}

/** A project whose database PostgreSQL has begun to drop stays unfinished. @see BEING_DROPPED */
const undoDeletion = (prisma: Database['prisma'], id: string): Promise<unknown> => prisma.$executeRaw`
  UPDATE control.project SET unfinished = false
   WHERE id = ${id}::uuid AND EXISTS (SELECT FROM pg_database WHERE datname = own_database AND datconnlimit <> -2)`

interface Removable {
  readonly id: string
  readonly slug: string
  readonly login: string | null
  readonly ownDatabase: string | null
}

/** Drops what there is of a project. What was begun can be begun again. */
async function remove(services: OwnProjectServices, project: Removable): Promise<void> {
  const { control, logger } = services
  const isRemoved = await control.prisma.$transaction(async (tx) => {
    await lockProject(tx, project)
    return removeLocked(tx, services, project)
  }, PATIENT)
  if (!isRemoved)
    logger.warn({ slug: project.slug }, 'PostgreSQL has not finished dropping a database: a sweep goes on')
}

/** @returns whether all is gone. Else there is a record left, unfinished and of no slug that anybody would want. */
async function removeLocked(
  tx: Transaction,
  { ownDatabases }: OwnProjectServices,
  { id, login, ownDatabase }: Removable,
): Promise<boolean> {
  if (ownDatabase !== null && (await ownDatabases.drop(ownDatabase)) === 'begun') {
    await tx.project.update({ where: { id }, data: { slug: `deleted-${id}`, unfinished: true } })
    return false
  }
  await forgetProject(tx, { id })
  if (login !== null) await dropProjectLogin(tx, login)
  return true
}

/**
 * Drops what processes that died have left of projects whose database they were making, or dropping. Those at which
 * somebody works are locked, and left alone.
 *
 * @returns their slugs.
 */
export async function sweepOwnProjects(services: OwnProjectServices): Promise<readonly string[]> {
  const { prisma } = services.control
  const where = { unfinished: true, createdAt: { lt: new Date(Date.now() - YOUNG_MS) } }
  const left = await prisma.project.findMany({ where, select: { id: true, slug: true } })
  const removed: string[] = []
  for (const { id, slug } of left) {
    const sweep = prisma.$transaction(async (tx) => {
      const [project] = await tx.$queryRaw<Removable[]>`
        SELECT id::text, slug, login, own_database AS "ownDatabase" FROM control.project
         WHERE id = ${id}::uuid AND unfinished FOR UPDATE SKIP LOCKED`
      return project !== undefined && (await removeLocked(tx, services, project))
    }, PATIENT)
    try {
      if (await sweep) removed.push(slug)
    } catch (err) {
      services.logger.warn({ err, slug }, 'the database of a project could not be dropped; it is tried again later')
    }
  }
  return removed
}

/** How long a project has to have been recorded, in milliseconds: the process that makes it locks it a moment later. */
const YOUNG_MS = 60_000
