import { randomUUID } from 'node:crypto'
import type { AllowedHosts } from '../../allowed-hosts.ts'
import type { Database } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import type { Seal } from '../../lib/seal.ts'
import type { Logger } from '../../logger.ts'
import { assertAttached } from '../project-location.ts'
import { findProject, lockProject, type Project, recordProject } from '../projects.ts'
import { recordExternalStage, type Stage } from '../stages.ts'
import { inBody, resolveGiven } from './attached-connection.ts'
import type { AttachedDatabases } from './attached-databases.ts'
import { assertOnlyOne } from './attached-twice.ts'
import { readAttachment, toAttachmentData } from './attachment.ts'
import { assertHasSchemas, assertUsableSchemas, type ProbedDatabase, probeDatabase } from './probe-database.ts'

export interface AttachServices {
  readonly control: Database
  readonly seal: Seal
  readonly logger: Logger
}

/** An address that somebody gives to this service. */
export interface GivenAddress {
  /** With its password. */
  readonly address: string
  /** The hosts that it may name; undefined for any, on an operator's own command line. */
  readonly allowed: AllowedHosts | undefined
  /** Where it stands in the body of the request. */
  readonly pointer: string
}

export interface NewAttachedStage {
  readonly slug: string
  /** The PostgreSQL schema that it is. */
  readonly schema: string
}

/**
 * Makes a project whose stages are schemas of a database that is not Wharf's. Nothing is changed there.
 *
 * @throws {AppError} CONFLICT where the slug is taken, a schema is missing, or a stage of another project already;
 *   INVALID_REQUEST, FORBIDDEN and ATTACHED_FAILED where the address is not understood, may not be reached, or can't be.
 */
export async function attachProject(
  services: AttachServices,
  { slug, stages, ...given }: GivenAddress & { readonly slug: string; readonly stages: readonly NewAttachedStage[] },
): Promise<Project> {
  const probed = await probe(services, given, schemasOf(stages))
  const { control, seal } = services
  return control.prisma.$transaction(async (tx) => {
    const id = randomUUID()
    await assertOnlyOne(tx, seal, { identity: probed.identity, projectId: id, schemas: schemasOf(stages) })
    await recordProject(tx, { id, slug })
    await tx.attachment.create({ data: { projectId: id, ...dataOf(seal, id, given, probed) } })
    for (const stage of stages) await recordExternalStage(tx, { id, slug }, stage)
    return findProject(tx, slug)
  })
}

/**
 * Gives an attached project another address: of the same database, or of one that has the schemas of its stages.
 *
 * @throws {AppError} as `attachProject` does; NOT_FOUND.
 */
export async function changeAddress(services: AttachServices, project: Project, given: GivenAddress): Promise<void> {
  assertAttached(project)
  const { server } = await readAttachment(services.control.prisma, services.seal, project)
  if (server !== undefined) {
    throw conflict(
      `the address of project "${project.slug}" is that of the server "${server}": change that one (project:attach --all --change)`,
    )
  }
  const schemas = project.stages.map(({ schemaName }) => schemaName)
  const probed = await probe(services, given, schemas)
  const { control, seal } = services
  await control.prisma.$transaction(async (tx) => {
    await assertOnlyOne(tx, seal, { identity: probed.identity, projectId: project.id, schemas })
    await lockProject(tx, project)
    const data = { ...dataOf(seal, project.id, given, probed), changedAt: new Date() }
    await tx.attachment.update({ where: { projectId: project.id }, data })
  })
}

/**
 * Adds a stage to an attached project.
 *
 * @throws {AppError} CONFLICT where the project is not attached, or has no such schema; NOT_FOUND, ATTACHED_FAILED.
 */
export async function attachStage(
  { control, seal, attached }: AttachServices & { readonly attached: AttachedDatabases },
  project: Project,
  stage: NewAttachedStage,
): Promise<Stage> {
  assertAttached(project)
  const { database } = await attached.of(project, 'exports')
  const attachment = await readAttachment(control.prisma, seal, project)
  await assertHasSchemas(database.pool, attachment, [stage.schema])
  await assertUsableSchemas(database.pool, attachment, [stage.schema])
  return control.prisma.$transaction(async (tx) => {
    const { identity } = attachment
    await assertOnlyOne(tx, seal, { identity, projectId: project.id, schemas: [stage.schema] })
    await lockProject(tx, project)
    return recordExternalStage(tx, project, stage)
  })
}

const schemasOf = (stages: readonly NewAttachedStage[]): readonly string[] => stages.map(({ schema }) => schema)

async function probe(
  { control, logger }: AttachServices,
  { address, allowed, pointer }: GivenAddress,
  schemas: readonly string[],
): Promise<ProbedDatabase> {
  const choice = await inBody(pointer, () => resolveGiven(address, allowed))
  return probeDatabase(choice, { control: control.prisma, schemas, logger })
}

const dataOf = (
  seal: Seal,
  projectId: string,
  { address, allowed }: GivenAddress,
  { connection, ...found }: ProbedDatabase,
) => {
  const { name, user: login } = connection
  return toAttachmentData(seal, projectId, { address, isListed: allowed !== undefined, name, login, ...found })
}
