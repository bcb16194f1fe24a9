import { createHash } from 'node:crypto'
import type { Transaction } from '../database/database.ts'
import { isUniqueViolation } from '../database/sqlstate.ts'
import { conflict, notFound } from '../errors.ts'
import { unlessOwnerDeleted } from './deleted-meanwhile.ts'
import { dropPatiently } from './drop-patiently.ts'
import { assertNotAttached, type ProjectLocation } from './project-location.ts'
import { createSchema, dropSchema } from './project-objects.ts'

/** The stage of every new project. */
export const DEFAULT_STAGE = 'live'

export interface Stage {
  readonly id: string
  readonly slug: string
  /** The PostgreSQL schema that holds its tables. */
  readonly schemaName: string
  readonly createdAt: Date
  /** Of a stage in a database that is not Wharf's: since when an event log is kept there; null where none is. */
  readonly loggedSince: Date | null
}

/** A project with its stages. */
interface HasStages {
  readonly slug: string
  readonly stages: readonly Stage[]
}

/**
 * Adds an empty stage to a project.
 *
 * @param tx a transaction over both the control tables and the stage's database.
 * @throws {AppError} CONFLICT where the project has a stage of this name; NOT_FOUND where it was deleted meanwhile;
 *   ATTACHED_PROJECT.
 */
export async function createStage(
  tx: Transaction,
  project: { readonly id: string; readonly slug: string; readonly login: string; readonly location: ProjectLocation },
  slug: string,
): Promise<Stage> {
  assertNotAttached(project, 'its stages are schemas of its own database', 'attach one of these (stage:attach)')
  const schemaName = stageSchemaName(project.slug, slug)
  const data = { projectId: project.id, slug, schemaName }
  const stage = await recordStage(tx, project.slug, data, '')
  await tx.$executeRawUnsafe(createSchema(schemaName, project.login))
  await tx.stageState.create({ data: { stageId: stage.id, schemaName, login: project.login } })
  return stage
}

/**
 * Records a stage in another database than the shared one. Its login here is Wharf's own, since no other one may know of it.
 *
 * @throws {AppError} CONFLICT where the project has a stage of this name, or of this schema; NOT_FOUND where it was
 *   detached meanwhile.
 */
export async function recordExternalStage(
  tx: Transaction,
  project: { readonly id: string; readonly slug: string },
  { slug, schema }: { readonly slug: string; readonly schema: string },
): Promise<Stage> {
  const stage = await recordStage(
    tx,
    project.slug,
    { projectId: project.id, slug, schemaName: schema },
    `, or one in the schema "${schema}"`,
  )
  await tx.$executeRaw`INSERT INTO system.stage_state (stage_id, login) VALUES (${stage.id}::uuid, current_user)`
  return stage
}

/** @param orElse what else there may be, for the message. */
async function recordStage(
  tx: Transaction,
  projectSlug: string,
  data: { readonly projectId: string; readonly slug: string; readonly schemaName: string },
  orElse: string,
): Promise<Stage> {
  const made = unlessOwnerDeleted(`project "${projectSlug}"`, tx.stage.create({ data }))
  return made.catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    throw conflict(`project "${projectSlug}" has a stage "${data.slug}" already${orElse}`)
  })
}

/**
 * Drops a stage with all its rows, and what imports keep beside it.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where somebody goes on reading it, e.g. to export it; ATTACHED_PROJECT.
 */
export async function deleteStage(
  tx: Transaction,
  project: HasStages & { readonly location: ProjectLocation },
  slug: string,
): Promise<void> {
  assertNotAttached(
    project,
    'its data is not Wharf’s to delete',
    'detach the stage (stage:detach), which leaves its data alone',
  )
  const stage = findStage(project, slug)
  const shadows = await tx.shadowSchema.findMany({ where: { stageId: stage.id } })
  await dropPatiently(tx, `stage "${slug}"`, async () => {
    for (const schemaName of [stage.schemaName, ...shadows.map((shadow) => shadow.schemaName)]) {
      await tx.$executeRawUnsafe(dropSchema(schemaName))
    }
    const { count } = await tx.stageState.deleteMany({ where: { stageId: stage.id } })
    // Somebody else has deleted it since it was found.
    if (count === 0) throw notFound('stage', slug, `in project "${project.slug}"`)
  })
  await tx.stage.delete({ where: { id: stage.id } })
}

/** @throws {AppError} NOT_FOUND */
export function findStage(project: HasStages, slug: string): Stage {
  const stage = project.stages.find((candidate) => candidate.slug === slug)
  if (!stage) throw notFound('stage', slug, `in project "${project.slug}"`)
  return stage
}

/** Longest schema name that leaves room, within PostgreSQL's 63 bytes, for the suffix of a schema beside it. */
const MAX_SCHEMA_NAME_BYTES = 48

/**
 * The PostgreSQL schema of a stage: `<project>.<stage>`, which nothing else can be called, since slugs have no dots.
 * A name that would be too long is cut and ends in a part of its hash.
 */
function stageSchemaName(projectSlug: string, stageSlug: string): string {
  const name = `${projectSlug}.${stageSlug}`
  if (name.length <= MAX_SCHEMA_NAME_BYTES) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, MAX_SCHEMA_NAME_BYTES - hash.length - 1)}~${hash}`
}
