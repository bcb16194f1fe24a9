import type { Container } from '../container.ts'
import type { Transaction } from '../database/database.ts'
import { conflict } from '../errors.ts'
import { switchLog } from '../projects/attached/log-stage.ts'
import { createClosedLogin, openLogin } from '../projects/project-login.ts'
import { createSchema } from '../projects/project-objects.ts'
import { findProject } from '../projects/projects.ts'
import { restoreLogins } from '../projects/restore-logins.ts'
import { projectSubject } from '../projects/sealed-subjects.ts'

/** A server copies a template for a while. */
const PATIENT = { timeout: 10 * 60_000 }

/**
 * Makes what projects that are recorded need in PostgreSQL: logins with the passwords that they had, empty schemas and
 * databases. What is there already stays.
 *
 * @throws {AppError} DATABASE_UNSUITABLE where Wharf's login may not.
 */
export async function makeProjects(container: Container): Promise<void> {
  const { prisma } = container.control
  await restoreLogins(container)
  const shared = await prisma.project.findMany({
    where: { login: { not: null }, ownDatabase: null, scratchFor: null },
    select: { id: true },
  })
  for (const { id } of shared) await prisma.$transaction((tx) => makeSchemas(tx, id), PATIENT)
  const own = await prisma.project.findMany({ where: { ownDatabase: { not: null }, unfinished: true } })
  if (own.length > 0) await container.ownDatabases.assertMayMake()
  for (const { id } of own) await makeDatabase(container, id)
  await makeLogs(container)
}

async function makeSchemas(tx: Transaction, projectId: string): Promise<void> {
  const missing = await tx.$queryRaw<{ id: string; schema: string; login: string }[]>`
    SELECT stage.id::text, schema_name AS schema, login FROM control.stage JOIN control.project ON project.id = project_id
     WHERE project_id = ${projectId}::uuid AND NOT EXISTS (SELECT FROM system.stage_state WHERE stage_id = stage.id)`
  for (const { id, schema, login } of missing) {
    await tx.$executeRawUnsafe(createSchema(schema, login))
    await tx.stageState.create({ data: { stageId: id, schemaName: schema, login } })
  }
}

/** A database cannot be made in a transaction: one that is there was left half made, and is dropped. */
async function makeDatabase({ control, seal, room, ownDatabases }: Container, id: string): Promise<void> {
  const limit = await room.limitOfNew()
  await control.prisma.$transaction(async (tx) => {
    const project = await tx.project.findUniqueOrThrow({ where: { id }, include: { stages: true } })
    const { login, ownDatabase: name, sealedPassword, stages } = project
    if (login === null || name === null || sealedPassword === null) return
    const there = await tx.$queryRaw<unknown[]>`SELECT FROM pg_catalog.pg_roles WHERE rolname = ${login}`
    if (there.length === 0) {
      await control.prisma.$transaction((first) =>
        createClosedLogin(first, { name: login, password: seal.unseal(sealedPassword, projectSubject(id)) }, limit),
      )
    }
    if ((await ownDatabases.drop(name)) === 'begun') {
      throw conflict(`PostgreSQL has not finished dropping the database "${name}" yet; try again`)
    }
    await ownDatabases.make({ name, login, schemas: stages.map(({ schemaName }) => schemaName) })
    await openLogin(tx, login)
    await tx.project.update({ where: { id }, data: { unfinished: false } })
  }, PATIENT)
}

/** Event logs that stages in databases of their own had. */
async function makeLogs(container: Container): Promise<void> {
  const logged = await container.control.prisma.stage.findMany({
    where: { loggedSince: { not: null }, project: { ownDatabase: { not: null } } },
    select: { slug: true, project: { select: { slug: true } } },
  })
  for (const { slug, project } of logged) {
    await switchLog(container, await findProject(container.control.prisma, project.slug), { slug, logEvents: true })
  }
}
