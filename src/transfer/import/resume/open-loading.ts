import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../../database/database.ts'
import { SQLSTATE, sqlState } from '../../../database/sqlstate.ts'
import { closeSchema } from '../../../projects/project-objects.ts'
import type { Query } from '../../structure/query.ts'
import { readStructureState } from '../external/structure-state.ts'
import { createLoadingSchema, dropShadowSchema, type ShadowKind } from '../shadow-schemas.ts'
import { identityOf, type TargetStage } from '../target-stage.ts'
import { loadsOf, recordSchema, type SavedLoad } from './saved-load.ts'
import { type ResumableAttempt, reopen, type StageSaves, stageSaves } from './stage-saves.ts'

/** Where a stage is loaded. */
export interface OpenedLoading {
  /** The schema beside the stage's own. */
  readonly schemaName: string
  readonly saves: StageSaves
}

/** For how long a commit of an attempt that was ended is waited for, in milliseconds, and how often is looked. */
const MAX_COMMIT_MS = 30_000
const BETWEEN_LOOKS_MS = 50

/**
 * Finds the schema in which an earlier attempt of the job has loaded the stage, or makes an empty one.
 *
 * @param kind as `createLoadingSchema`.
 */
export async function openLoading(
  system: Database,
  target: TargetStage,
  kind: Exclude<ShadowKind, 'kept'>,
  attempt: ResumableAttempt | undefined,
): Promise<OpenedLoading> {
  const stage = identityOf(target)
  const { login } = stage
  if (!attempt) {
    const schemaName = await createLoadingSchema(system, stage, kind)
    return { schemaName, saves: stageSaves(system, { schemaName, login, attempt, loads: '', found: undefined }) }
  }
  const loads = loadsOf(attempt.archive, target)
  for (const taken of await takeOver(system, stage.stageId, kind, attempt)) {
    const { schemaName } = taken
    await system.prisma.$executeRawUnsafe(closeSchema(schemaName, login))
    const found = await usableLoad(system, taken, loads)
    if (found) {
      if (!found.whole) await reopen(system, { schemaName, login, attempt })
      return { schemaName, saves: stageSaves(system, { schemaName, login, attempt, loads, found }) }
    }
    await dropShadowSchema(system, { schemaName, kind })
  }
  const schemaName = await createLoadingSchema(system, stage, kind)
  return { schemaName, saves: stageSaves(system, { schemaName, login, attempt, loads, found: undefined }) }
}

interface Taken {
  readonly schemaName: string
  readonly saved: unknown
}

/** From now on, no earlier attempt can write down, nor commit, anything more. */
const takeOver = (
  { prisma }: Database,
  stageId: string,
  kind: ShadowKind,
  { jobId, attempt }: ResumableAttempt,
): Promise<readonly Taken[]> =>
  prisma.$queryRaw<Taken[]>`
    UPDATE system.side_schema SET attempt = ${attempt}, kind = ${kind}
     WHERE job_id = ${jobId}::uuid AND stage_id = ${stageId}::uuid AND kind <> 'kept' AND attempt <= ${attempt}
     RETURNING schema_name AS "schemaName", saved`

/** @returns what was committed, as it is there still; undefined where it cannot be gone on with. */
async function usableLoad(
  system: Database,
  { schemaName, saved }: Taken,
  loads: string,
): Promise<SavedLoad | undefined> {
  const record = recordSchema.safeParse(saved).data
  if (record?.loads !== loads) return undefined
  const status = await outcomeOfTransaction(system, record.transaction)
  const load = status === 'committed' ? record.after : status === 'aborted' ? record.before : undefined
  if (!load) return undefined
  const query: Query = (sql, parameters) => system.prisma.$queryRawUnsafe(sql, ...parameters)
  return (await readStructureState(query, schemaName)) === load.structureState ? load : undefined
}

/** The session of an earlier attempt was ended, but its commit may still be on its way. @returns null where nobody knows. */
async function outcomeOfTransaction({ prisma }: Database, transaction: string): Promise<string | null> {
  const until = performance.now() + MAX_COMMIT_MS
  for (;;) {
    const asked = prisma.$queryRaw<{ status: string | null }[]>`
      SELECT pg_xact_status(${transaction}::xid8) AS status`
    const [row] = await asked.catch((error: unknown) => {
      // This server has had no such transaction yet: it was that of the server that a dump came from.
      if (sqlState(error) === SQLSTATE.invalidParameterValue) return []
      throw error
    })
    const status = row?.status ?? null
    if (status !== 'in progress' || performance.now() > until) return status
    await delay(BETWEEN_LOOKS_MS)
  }
}
