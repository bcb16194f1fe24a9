import { randomBytes, randomUUID } from 'node:crypto'
import type { Queryable, Transaction } from '../database/database.ts'
import type { Prisma } from '../database/generated/client.ts'
import type { Login } from '../database/login-databases.ts'
import { isUniqueViolation } from '../database/sqlstate.ts'
import { conflict, notFound } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import { DEFAULT_ROLES } from './permissions.ts'
import { createProjectLogin, dropProjectLogin } from './project-login.ts'
import { fromPermissions } from './roles.ts'
import { createStage, type Stage } from './stages.ts'

export interface Project {
  readonly id: string
  readonly slug: string
  /** The PostgreSQL login role that owns the stages' schemas. */
  readonly login: string
  readonly createdAt: Date
  /** In the order in which they were made. */
  readonly stages: readonly Stage[]
}

/**
 * Creates a project with its login, the default roles and its stages, whole or not at all.
 *
 * @param tx a transaction over both the control tables and the project's database.
 * @param stages slugs, at least one.
 * @throws {AppError} CONFLICT where the slug is taken; DATABASE_UNSUITABLE where Wharf's login may not create logins.
 */
export async function createProject(
  tx: Transaction,
  seal: Seal,
  { slug, stages }: { readonly slug: string; readonly stages: readonly string[] },
): Promise<Project> {
  const id = randomUUID()
  const login = `wharf_${id.replaceAll('-', '')}`
  const password = randomBytes(32).toString('base64url')
  const data = { id, slug, login, sealedPassword: seal.seal(password) }
  await tx.project.create({ data }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? conflict(`there is a project "${slug}" already`) : error
  })
  await tx.role.createMany({
    data: DEFAULT_ROLES.map((role) => ({ projectId: id, name: role.name, ...fromPermissions(role) })),
  })
  await createProjectLogin(tx, login, password)
  for (const stage of stages) await createStage(tx, { id, slug, login, createdAt: new Date() }, stage)
  return findProject(tx, slug)
}

/**
 * Projects by slug.
 *
 * @param page at most `limit`, after the one with the slug `after`; only these `slugs` where they are named.
 */
export async function listProjects(
  control: Queryable,
  page: { readonly limit: number; readonly after?: string | undefined; readonly slugs?: readonly string[] },
): Promise<readonly Project[]> {
  return control.project.findMany({
    where: {
      scratchFor: null,
      slug: { ...(page.slugs && { in: [...page.slugs] }), ...(page.after !== undefined && { gt: page.after }) },
    },
    orderBy: { slug: 'asc' },
    take: page.limit,
    ...WITH_STAGES,
  })
}

/** @throws {AppError} NOT_FOUND */
export async function findProject(control: Queryable, slug: string): Promise<Project> {
  const project = await control.project.findUnique({ where: { slug }, ...WITH_STAGES })
  if (!project) throw notFound('project', slug)
  return project
}

/** Deletes a project with its stages, their rows, its roles and its login. @throws {AppError} NOT_FOUND */
export async function deleteProject(tx: Transaction, slug: string): Promise<Project> {
  const project = await findProject(tx, slug)
  await tx.stageState.deleteMany({ where: { stageId: { in: project.stages.map(({ id }) => id) } } })
  await tx.membership.deleteMany({ where: { projectId: project.id } })
  await tx.project.delete({ where: { id: project.id } })
  await dropProjectLogin(tx, project.login)
  return project
}

/** The name and the password with which sessions of the project log in. */
export async function projectLogin(control: Queryable, seal: Seal, project: Pick<Project, 'id'>): Promise<Login> {
  const { login, sealedPassword } = await control.project.findUniqueOrThrow({ where: { id: project.id } })
  return { name: login, password: seal.unseal(sealedPassword) }
}

const WITH_STAGES = {
  select: {
    id: true,
    slug: true,
    login: true,
    createdAt: true,
    stages: { orderBy: [{ createdAt: 'asc' }, { slug: 'asc' }] },
  },
} satisfies Prisma.ProjectDefaultArgs
