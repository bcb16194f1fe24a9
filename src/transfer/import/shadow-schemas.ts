import { randomUUID } from 'node:crypto'
import type { Database, Transaction } from '../../database/database.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { isAppError } from '../../errors.ts'
import { dropLoadingLogs, listLoadingLogs } from '../../events/load-log.ts'
import type { Logger } from '../../logger.ts'
import { closeSchema, commentOnSchema, dropSchema, openSchema } from '../../projects/project-objects.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import { sweepStageLocks, withImportsLocked } from '../../projects/stage-locks.ts'
import { dropExternalSchema } from './external/external-schemas.ts'

/** A stage as its own database knows it. */
export interface StageIdentity {
  readonly stageId: string
  readonly schemaName: string
  readonly login: string
}

/**
 * What a schema beside a stage is for: an import loads into it, under the stage's lock or `arriving`, without; or it was
 * replaced, and is `kept` for an undo.
 */
export type ShadowKind = 'loading' | 'arriving' | 'kept'

export interface ShadowSchema {
  readonly schemaName: string
  readonly stageId: string
  readonly kind: ShadowKind
}

/**
 * Makes an empty schema beside a stage's own, for an import to load into.
 *
 * @param kind `loading` under the stage's lock; `arriving` without, which is nobody's any more once no transaction is at
 *   work on it. @returns its name.
 */
export async function createLoadingSchema(
  system: Database,
  stage: StageIdentity,
  kind: Exclude<ShadowKind, 'kept'>,
): Promise<string> {
  const name = shadowName(stage, 'new')
  await system.prisma.$transaction(async (tx) => {
    await tx.shadowSchema.create({ data: { schemaName: name, stageId: stage.stageId, kind } })
    for (const statement of openSchema(name, stage.login)) await tx.$executeRawUnsafe(statement)
  })
  return name
}

/** A schema that is loaded, but not committed yet. */
export interface LoadedSchema {
  readonly schemaName: string
  /** The project's login, which has loaded it. */
  readonly login: string
  /** The comment that the schema gets; undefined for none. */
  readonly comment: string | undefined
  commit(): Promise<void>
}

/**
 * Commits what was loaded into a schema beside a stage's own. Before anybody can see it, it is closed to the project, so
 * that what takes the stage's place is what was loaded and compared.
 */
export async function commitLoaded(
  { prisma }: Database,
  { schemaName, login, comment, commit }: LoadedSchema,
): Promise<void> {
  if (comment !== undefined) await prisma.$executeRawUnsafe(commentOnSchema(schemaName, comment))
  await prisma.$executeRawUnsafe(closeSchema(schemaName, login))
  await commit()
}

/**
 * Gives a schema that was loaded while its archive arrived to the import that has the stage's lock now.
 *
 * @returns false where it is gone.
 */
export async function claimShadowSchema(system: Database, schemaName: string): Promise<boolean> {
  const { count } = await system.prisma.shadowSchema.updateMany({
    where: { schemaName, kind: 'arriving' },
    data: { kind: 'loading' },
  })
  return count === 1
}

/** A unique name for a schema beside the stage's; stage schema names leave room for it. */
export const shadowName = ({ schemaName }: StageIdentity, suffix: 'new' | 'old'): string =>
  `${schemaName}.${suffix}-${randomUUID().slice(0, 8)}`

/**
 * Drops a schema beside a stage's own, and its record. Where it was not kept, the caller has the stage's lock, so that
 * nobody who still loads into it can be anything but the session of an import that is gone, though PostgreSQL may not
 * have noticed. What was kept, nobody loads into, and several may drop at once.
 *
 * @returns false where somebody still reads its tables (an export that began before it was replaced, say): it is there
 *   then, for the next sweep.
 */
export async function dropShadowSchema(
  system: Database,
  { schemaName, kind }: Pick<ShadowSchema, 'schemaName' | 'kind'>,
): Promise<boolean> {
  const drop = async (tx: Transaction): Promise<boolean> => {
    await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '2s'`)
    await tx.$executeRawUnsafe(dropSchema(schemaName))
    await tx.shadowSchema.deleteMany({ where: { schemaName } })
    return true
  }
  if (kind !== 'kept') await endSessionsIn(system, schemaName)
  return system.prisma.$transaction(drop, { timeout: 10 * 60_000 }).catch((error: unknown) => {
    if (sqlState(error) === SQLSTATE.lockNotAvailable) return false
    throw error
  })
}

/** Drops a schema that was loaded beside a stage and is not used. What cannot be dropped now is left to the sweep, and the log says why. */
export async function dropUnused(
  { system, logger }: { readonly system: Database; readonly logger: Logger },
  schemaName: string,
): Promise<void> {
  const [drop] = await Promise.allSettled([dropShadowSchema(system, { schemaName, kind: 'arriving' })])
  if (drop.status === 'fulfilled' && drop.value) return
  const err = drop.status === 'rejected' ? drop.reason : new Error('somebody reads its tables')
  logger.warn({ err, schemaName }, 'a schema beside a stage could not be dropped: the next sweep tries again')
}

/** A session that makes a table locks its schema until the end of the transaction; one that reads a table does not. */
const endSessionsIn = (system: Database, schemaName: string): Promise<unknown> =>
  system.prisma.$queryRaw`
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND classid = 'pg_namespace'::regclass
      AND objid = to_regnamespace(quote_ident(${schemaName}))`

/** Drops what a job has loaded and committed, once it has ended. The sweep drops what cannot be dropped now. */
export async function dropLoadedBy(system: Database, jobId: string): Promise<void> {
  const loaded = await system.prisma.shadowSchema.findMany({ where: { jobId }, select: { schemaName: true } })
  for (const { schemaName } of loaded) await dropShadowSchema(system, { schemaName, kind: 'loading' })
}

/** What it takes to drop a schema beside a stage, wherever that is. */
export interface DroppingServices {
  readonly control: Pick<Database, 'prisma'>
  readonly system: Database
  readonly projectDatabase: FindProjectDatabase
}

/** The same as `dropShadowSchema`, also of a stage of another database than the shared one: there, its login drops the schema. */
export async function dropBeside(
  { control, system, projectDatabase }: DroppingServices,
  { schemaName, stageId, kind }: ShadowSchema,
): Promise<boolean> {
  const stage = await control.prisma.stage.findUnique({
    where: { id: stageId },
    include: {
      project: { select: { id: true, slug: true, ownDatabase: true, attachment: { select: { login: true } } } },
    },
  })
  if (!stage?.project.attachment && !stage?.project.ownDatabase) return dropShadowSchema(system, { schemaName, kind })
  const { database } = await projectDatabase(stage.project, 'imports')
  const isDropped = await dropExternalSchema(database, schemaName, { isKept: kind === 'kept' })
  if (isDropped) await system.prisma.shadowSchema.deleteMany({ where: { schemaName } })
  return isDropped
}

/**
 * Those that imports which died were loading into, and those kept longer than they have to be. What a job has loaded, and
 * committed, is its own until it has ended.
 *
 * @param stageIds of stages whose locks the caller has, so that nobody else loads into them but archives that are still
 *   arriving; all stages without.
 */
export const listDroppable = (system: Database, stageIds?: readonly string[]): Promise<readonly ShadowSchema[]> =>
  system.prisma.$queryRaw`
    SELECT schema_name AS "schemaName", stage_id::text AS "stageId", kind FROM system.side_schema
    WHERE (${stageIds ?? null}::text[] IS NULL OR stage_id::text = ANY (${stageIds ?? null}::text[]))
      AND NOT EXISTS (SELECT FROM control.job WHERE id = job_id AND status IN ('queued', 'running'))
      AND (kind = 'loading' OR kind = 'kept' AND expires_at <= now() OR kind = 'arriving' AND NOT EXISTS (
        SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE datname = current_database() AND classid = 'pg_namespace'::regclass
          AND objid = to_regnamespace(quote_ident(schema_name))))`

/**
 * Drops what imports that died have left beside stages, and what was kept for `undo` long enough, with the locks of stages
 * that are gone. A stage that an import has locked is left for the next time; rows may be written meanwhile.
 */
export async function sweepShadowSchemas(
  services: DroppingServices & { readonly imports: Database },
  logger: Logger,
): Promise<void> {
  const { system, imports } = services
  const whileLocked = async (stageId: string, what: string, drop: () => Promise<void>): Promise<void> => {
    try {
      await withImportsLocked({ imports }, [stageId], drop)
    } catch (error) {
      if (!isAppError(error, 'CONFLICT')) logger.warn({ err: error, stageId }, `${what} could not be dropped`)
    }
  }
  // Event logs that were being loaded when their import died.
  for (const stageId of await listLoadingLogs(system)) {
    await whileLocked(stageId, 'stray events', async () => {
      await dropLoadingLogs(system, [stageId])
    })
  }
  await sweepStageLocks(system)
  for (const schema of await listDroppable(system)) {
    const { schemaName, stageId, kind } = schema
    await whileLocked(stageId, `the schema ${schemaName}`, async () => {
      const dropped = await dropBeside(services, schema)
      if (dropped) logger.info({ schemaName, kind }, 'schema beside a stage dropped')
    })
  }
}
