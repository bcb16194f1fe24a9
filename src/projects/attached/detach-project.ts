import type { Transaction } from '../../database/database.ts'
import type { PrismaClient } from '../../database/generated/client.ts'
import type { Seal } from '../../lib/seal.ts'
import { assertAttached } from '../project-location.ts'
import { forgetProject, lockProject, type Project } from '../projects.ts'
import { findStage, type Stage } from '../stages.ts'
import type { AttachedDatabases } from './attached-databases.ts'
import { identityOf, readAttachment } from './attachment.ts'
import { removeLog } from './event-log.ts'
import { keepImportsOut } from './keep-imports-out.ts'
import { logFailure, schemasOf } from './log-stage.ts'
import { readTraces, removeTraces } from './remove-traces.ts'

export interface DetachServices {
  readonly control: { readonly prisma: PrismaClient }
  readonly seal: Seal
  readonly attached: AttachedDatabases
}

export interface DetachOptions {
  /** Whether what imports have left in the database may stay there, e.g. since it is not to be reached any more. */
  readonly force: boolean
}

/** Dropping what imports have replaced takes as long as its tables are large. */
const PATIENT = { timeout: 10 * 60_000 }

/**
 * Forgets an attached project, with its roles and the memberships of tokens. Its database is left alone, but for what
 * imports have left beside its stages.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where it is not attached, or something is being imported into it; FORBIDDEN and
 *   ATTACHED_FAILED where imports have left something, and the database is not reached.
 */
export async function detachProject(services: DetachServices, project: Project, options: DetachOptions): Promise<void> {
  assertAttached(project)
  await services.control.prisma.$transaction(async (tx) => {
    await lockProject(tx, project)
    const stages = await tx.stage.findMany({ where: { projectId: project.id } })
    const stageIds = stages.map(({ id }) => id)
    await keepImportsOut(tx, stageIds)
    if (!options.force) await leaveAsFound(tx, services, { project, stages, isWhole: true })
    await leaveOut(tx, project)
    await forgetProject(tx, project)
  }, PATIENT)
}

/** Of a database of a server that is attached as a whole: the next look at that one does not attach it again. */
async function leaveOut(tx: Transaction, { id }: Project): Promise<void> {
  const attachment = await tx.attachment.findUnique({ where: { projectId: id } })
  if (!attachment?.serverId || attachment.database === null) return
  await tx.attachedServer.update({
    where: { id: attachment.serverId },
    data: { detached: { push: attachment.database } },
  })
}

/** The same for one stage. @throws {AppError} as `detachProject` does. */
export async function detachStage(
  services: DetachServices,
  project: Project,
  { slug, force }: DetachOptions & { readonly slug: string },
): Promise<void> {
  assertAttached(project)
  const { id } = findStage(project, slug)
  await services.control.prisma.$transaction(async (tx) => {
    await lockProject(tx, project)
    await keepImportsOut(tx, [id])
    const stages = await tx.stage.findMany({ where: { id } })
    if (!force) await leaveAsFound(tx, services, { project, stages, isWhole: false })
    await tx.stageState.deleteMany({ where: { stageId: id } })
    await tx.stage.deleteMany({ where: { id } })
  }, PATIENT)
}

type LoggedStage = Pick<Stage, 'id' | 'schemaName' | 'loggedSince'>

interface Leaving {
  readonly project: Project
  readonly stages: readonly LoggedStage[]
  /** Whether no stage of the project is left. */
  readonly isWhole: boolean
}

/** A database into which nothing was ever imported need not even be reached. */
async function leaveAsFound(
  tx: Transaction,
  { seal, attached }: DetachServices,
  { project, stages, isWhole }: Leaving,
): Promise<void> {
  const traces = await readTraces(
    tx,
    stages.map(({ id }) => id),
  )
  const logged = stages.filter(({ loggedSince }) => loggedSince !== null)
  if (traces.schemas.length === 0 && logged.length === 0 && !(isWhole && traces.isImportedInto)) return
  const { database } = await attached.of(project, 'imports')
  for (const stage of logged) {
    await removeLog(database, stage.id, await schemasOf(tx, stage)).catch((error: unknown) => {
      throw logFailure(error)
    })
  }
  const withRecords = isWhole && !(await isSharedDatabase(tx, seal, project))
  await removeTraces(database, traces, { withRecords })
}

/** Whether another project has stages in the same database. */
async function isSharedDatabase(tx: Transaction, seal: Seal, project: Project): Promise<boolean> {
  const { identity } = await readAttachment(tx, seal, project)
  const others = await tx.attachment.findMany({ where: { projectId: { not: project.id } } })
  // Where it is not known, nothing is dropped that another one may need.
  return others.some((other) => identity === null || identityOf(seal, other) === identity)
}
