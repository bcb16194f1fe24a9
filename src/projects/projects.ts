import { randomBytes, randomUUID } from 'node:crypto'
import type { Queryable, Transaction } from '../database/database.ts'
import type { Prisma, PrismaClient } from '../database/generated/client.ts'
import type { Login } from '../database/login-databases.ts'
import { isUniqueViolation } from '../database/sqlstate.ts'
import { databaseFailure } from '../database/sqlstate-meanings.ts'
import { conflict, isAppError, notFound } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import { dropPatiently } from './drop-patiently.ts'
import { DEFAULT_ROLES } from './permissions.ts'
import { assertNotAttached, type ProjectLocation } from './project-location.ts'
import { closeLogin, createProjectLogin, dropProjectLogin, endSessionsOf, reopenLogins } from './project-login.ts'
import { fromPermissions } from './roles.ts'
import { projectSubject } from './sealed-subjects.ts'
import { createStage, type Stage } from './stages.ts'

export interface Project {
  readonly id: string
  readonly slug: string
  /** The PostgreSQL login role that the stages are read and replaced as: of an attached project, one of its database. */
  readonly login: string
  readonly location: ProjectLocation
  readonly createdAt: Date
  readonly eventLog: KeptEvents
  /** In the order in which they were made. */
  readonly stages: readonly Stage[]
}

/** What of its event logs is kept: for so many days, so many of each stage; 0 for ever and any number, null as the configuration has it. */
export interface KeptEvents {
  readonly keepDays: number | null
  readonly keepEvents: number | null
}

export interface NewProject {
  readonly slug: string
  /** Slugs, at least one. */
  readonly stages: readonly string[]
  /** How many sessions its login may have. */
  readonly connectionLimit: number
}

/**
 * Creates a project with its login, the default roles and its stages, whole or not at all.
 *
 * @param tx a transaction over both the control tables and the project's database.
 * @throws {AppError} CONFLICT where the slug is taken; DATABASE_UNSUITABLE where Wharf's login may not create logins.
 */
export async function createProject(
  tx: Transaction,
  seal: Seal,
  { slug, stages, connectionLimit }: NewProject,
): Promise<Project> {
  const id = randomUUID()
  const login = newLogin(id)
  await recordProject(tx, { id, slug, ...toLoginData(seal, id, login) })
  await createProjectLogin(tx, login, connectionLimit)
  for (const stage of stages) await createStage(tx, { id, slug, login: login.name, location: 'shared' }, stage)
  return findProject(tx, slug)
}

/** The login of a project that is about to be made. */
export const newLogin = (id: string): Login => ({
  name: `wharf_${id.replaceAll('-', '')}`,
  password: randomBytes(32).toString('base64url'),
})

/** The columns of a project's record that say how its login logs in. */
export const toLoginData = (seal: Seal, id: string, { name, password }: Login) => ({
  login: name,
  sealedPassword: seal.seal(password, projectSubject(id)),
})

/**
 * Records a project with the default roles.
 *
 * @throws {AppError} CONFLICT where the slug is taken.
 */
export async function recordProject(
  tx: Transaction,
  data: Pick<
    Prisma.ProjectCreateInput,
    'slug' | 'login' | 'sealedPassword' | 'ownDatabase' | 'unfinished' | 'scratchFor'
  > & {
    readonly id: string
  },
): Promise<void> {
  await tx.project.create({ data }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? conflict(`there is a project "${data.slug}" already`) : error
  })
  await tx.role.createMany({
    data: DEFAULT_ROLES.map((role) => ({ projectId: data.id, name: role.name, ...fromPermissions(role) })),
  })
}

/** At most `limit`, after the one with the slug `after`; only these `slugs`, and with `search` in them, where they are named. */
export interface ProjectPage {
  readonly limit: number
  readonly after?: string | undefined
  readonly slugs?: readonly string[]
  readonly search?: string | undefined
}

/** Projects by slug. */
export async function listProjects(control: Queryable, page: ProjectPage): Promise<readonly Project[]> {
  const found = await control.project.findMany({
    where: {
      scratchFor: null,
      unfinished: false,
      slug: {
        ...(page.slugs && { in: [...page.slugs] }),
        ...(page.after !== undefined && { gt: page.after }),
        ...(page.search !== undefined && { contains: asItStands(page.search) }),
      },
    },
    orderBy: { slug: 'asc' },
    take: page.limit,
    ...WITH_STAGES,
  })
  return found.map(toProject)
}

/** Prisma makes a pattern of LIKE of it. Slugs have no capitals. */
const asItStands = (text: string): string => text.toLowerCase().replace(/[\\%_]/g, '\\$&')

/** @throws {AppError} NOT_FOUND */
export async function findProject(control: Queryable, slug: string): Promise<Project> {
  const project = await control.project.findUnique({ where: { slug, unfinished: false }, ...WITH_STAGES })
  if (!project) throw notFound('project', slug)
  return toProject(project)
}

/** Says what of a project's event logs is kept. @throws {AppError} NOT_FOUND */
export async function keepEvents(
  control: Queryable,
  slug: string,
  { keepDays, keepEvents }: Partial<KeptEvents>,
): Promise<Project> {
  const data = {
    ...(keepDays !== undefined && { logDays: keepDays }),
    ...(keepEvents !== undefined && { logEvents: keepEvents }),
  }
  await control.project.updateMany({ where: { slug, unfinished: false }, data })
  return findProject(control, slug)
}

/** How often it is tried to drop a project: a session that was just beginning can still be there the first time. */
const MAX_ATTEMPTS = 3

/**
 * Deletes a project with its stages, their rows, its roles and its login.
 *
 * The login is closed first, in a transaction of its own, so that no session of the project's own can begin and hold what
 * is to be deleted. Where the rest fails it is opened again: by this process, or by the next sweep where this one dies.
 *
 * @param patience how long, in milliseconds, dropping may take.
 * @throws {AppError} NOT_FOUND; ATTACHED_PROJECT; CONFLICT where something of it is held for too long.
 */
export async function deleteProject(
  control: PrismaClient,
  slug: string,
  patience: { readonly timeout: number },
): Promise<Project> {
  const project = await findProject(control, slug)
  // Its login is one of another server, whatever roles there are here.
  assertNotAttached(
    project,
    'its data is not Wharf’s to delete',
    'detach it (project:detach), which leaves its data alone',
  )
  try {
    await closeLogin(control, project.login)
    for (let attempt = 1; ; attempt += 1) {
      try {
        await control.$transaction((tx) => dropProject(tx, project), patience)
        return project
      } catch (error) {
        // A deadlock with what was using the project is a conflict, too.
        const failure = databaseFailure(error) ?? error
        if (attempt === MAX_ATTEMPTS || !isAppError(failure, 'CONFLICT')) throw error
        await endSessionsOf(control, project.login)
      }
    }
  } catch (error) {
    await Promise.allSettled([reopenLogins(control, slug)])
    throw error
  }
}

const dropProject = (tx: Transaction, project: Project): Promise<void> =>
  dropPatiently(tx, `project "${project.slug}"`, async () => {
    await lockProject(tx, project)
    await forgetProject(tx, project)
    await dropProjectLogin(tx, project.login)
  })

/**
 * While it is locked, nobody opens its login again, and none of its stages is made.
 *
 * @throws {AppError} NOT_FOUND where it was deleted since it was found.
 */
export async function lockProject(tx: Transaction, { id, slug }: Pick<Project, 'id' | 'slug'>): Promise<void> {
  const locked = await tx.$queryRaw<unknown[]>`SELECT 1 FROM control.project WHERE id = ${id}::uuid FOR UPDATE`
  if (locked.length === 0) throw notFound('project', slug)
}

/** Removes what is recorded of a project that is locked, and nothing that its records are about. */
export async function forgetProject(tx: Transaction, { id }: Pick<Project, 'id'>): Promise<void> {
  // Read again: a stage may have been made since the project was found.
  const stages = await tx.stage.findMany({ where: { projectId: id } })
  await tx.stageState.deleteMany({ where: { stageId: { in: stages.map((stage) => stage.id) } } })
  await tx.membership.deleteMany({ where: { projectId: id } })
  await tx.project.delete({ where: { id } })
}

/**
 * The name and the password with which sessions of the project log in; undefined for one that is attached.
 *
 * @throws {AppError} NOT_FOUND where it was deleted since it was found.
 */
export async function projectLogin(
  control: Queryable,
  seal: Seal,
  { id, slug }: Pick<Project, 'id' | 'slug'>,
): Promise<Login | undefined> {
  const project = await control.project.findUnique({ where: { id } })
  if (!project) throw notFound('project', slug)
  const { login, sealedPassword, ownDatabase } = project
  if (login === null || sealedPassword === null) return undefined
  const password = seal.unseal(sealedPassword, projectSubject(id))
  return { name: login, password, ...(ownDatabase !== null && { ownDatabase }) }
}

const WITH_STAGES = {
  select: {
    id: true,
    slug: true,
    login: true,
    ownDatabase: true,
    createdAt: true,
    logDays: true,
    logEvents: true,
    attachment: { select: { login: true } },
    stages: { orderBy: [{ createdAt: 'asc' }, { slug: 'asc' }] },
  },
} satisfies Prisma.ProjectDefaultArgs

type ProjectRow = Prisma.ProjectGetPayload<typeof WITH_STAGES>

const toProject = ({ login, ownDatabase, attachment, logDays, logEvents, ...project }: ProjectRow): Project => ({
  ...project,
  eventLog: { keepDays: logDays, keepEvents: logEvents },
  login: attachment?.login ?? login ?? '',
  location: attachment ? 'attached' : ownDatabase === null ? 'shared' : 'own',
})
