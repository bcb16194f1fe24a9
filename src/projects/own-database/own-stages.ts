import type { Database } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import { removeLog } from '../attached/event-log.ts'
import { keepImportsOut } from '../attached/keep-imports-out.ts'
import { schemasOf, switchLog } from '../attached/log-stage.ts'
import { readTraces, removeTraces } from '../attached/remove-traces.ts'
import { dropPatiently } from '../drop-patiently.ts'
import { createSchema, dropSchema } from '../project-objects.ts'
import { lockProject, type Project } from '../projects.ts'
import type { FindProjectDatabase } from '../stage-database.ts'
import { findStage, recordExternalStage, type Stage } from '../stages.ts'

interface StageServices {
  readonly control: Pick<Database, 'prisma'>
  readonly projectDatabase: FindProjectDatabase
}

/** Dropping tables takes as long as they are large. */
const PATIENT = { timeout: 10 * 60_000 }

/** Names of schemas that PostgreSQL keeps for itself, and those that Wharf makes beside stages. */
const RESERVED = /^(pg_|wharf_|information_schema$|extensions$)/

/**
 * The schema of a stage in a project's own database, but for its first stage, which is `public`.
 *
 * @throws {AppError} CONFLICT
 */
export function schemaOfStage(slug: string): string {
  if (!RESERVED.test(slug)) return slug
  throw conflict(
    `a stage cannot be called "${slug}": in a database of its own, its schema would be, and that name is reserved`,
  )
}

/**
 * Adds an empty stage to a project that has a database of its own, whose login makes the schema.
 *
 * @throws {AppError} CONFLICT where there is a stage of this name, or a schema that is not empty; NOT_FOUND where the
 *   project was deleted meanwhile.
 */
export async function createOwnStage(
  { control, projectDatabase }: StageServices,
  project: Project,
  slug: string,
): Promise<Stage> {
  const schema = schemaOfStage(slug)
  const { database, login } = await projectDatabase(project, 'imports')
  const made = await control.prisma.$transaction(async (tx) => {
    await lockProject(tx, project)
    const stage = await recordExternalStage(tx, project, { slug, schema })
    // Not by Prisma, which hides why there is no session.
    const { rows } = await database.pool.query<{ isEmpty: boolean }>(EMPTY, [schema])
    if (rows[0]?.isEmpty === false) {
      throw conflict(`the database of project "${project.slug}" has a schema "${schema}" already, which is not empty`)
    }
    // One that is empty was left by a process that died here.
    if (!rows[0]) await database.pool.query(createSchema(schema, login))
    return stage
  }, PATIENT)
  return switchLog(
    { control, projectDatabase },
    { ...project, stages: [...project.stages, made] },
    {
      slug,
      logEvents: true,
    },
  )
}

/** `$1`: the schema. No row where there is none. */
const EMPTY = `
  SELECT NOT EXISTS (SELECT FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = oid) AS "isEmpty"
    FROM pg_namespace WHERE nspname = $1`

/**
 * Drops a stage with its schema, and what imports keep beside it, as the project's own login.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where somebody goes on reading it, or something is being imported into it.
 */
export async function deleteOwnStage(
  { control, projectDatabase }: StageServices,
  project: Project,
  slug: string,
): Promise<void> {
  const stage = findStage(project, slug)
  const { id, schemaName } = stage
  const { database } = await projectDatabase(project, 'imports')
  await control.prisma.$transaction(async (tx) => {
    await lockProject(tx, project)
    await keepImportsOut(tx, [id])
    await removeLog(database, id, await schemasOf(tx, stage))
    await removeTraces(database, await readTraces(tx, [id]), { withRecords: false })
    await database.prisma.$transaction(
      (own) =>
        dropPatiently(own, `stage "${slug}"`, async () => {
          await own.$executeRawUnsafe('SET TRANSACTION READ WRITE')
          await own.$executeRawUnsafe(dropSchema(schemaName))
        }),
      PATIENT,
    )
    await tx.stageState.deleteMany({ where: { stageId: id } })
    await tx.stage.deleteMany({ where: { id } })
  }, PATIENT)
}
