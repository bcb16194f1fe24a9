import type { ImportedProject } from '../../contract/import.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { nameTransaction } from '../../database/session-name.ts'
import { replaceLog } from '../../events/load-log.ts'
import { recordCrash } from '../../events/record-crash.ts'
import { readReference, type StageReference } from '../../events/reference.ts'
import type { Query } from '../structure/query.ts'
import { assertSettled } from './assert-settled.ts'
import { commitExternal } from './external/commit-external.ts'
import type { ImportOptions, ImportServices } from './import-options.ts'
import { toImported } from './import-result.ts'
import { applyRoles, lockRoles, planRolesOf } from './import-roles.ts'
import type { LoadedStage } from './load-stage.ts'
import { assertMayBuild } from './structure-permission.ts'
import { expireKept, lockStages, type Swap, swapStages } from './swap-stages.ts'
import { identityOf } from './target-stage.ts'
import type { TargetProject } from './targets.ts'

/** Where each stage stands before it is loaded: what is written from then on would be lost with what is replaced. */
export async function readReferences(
  system: Database,
  stageIds: readonly string[],
): Promise<ReadonlyMap<string, StageReference>> {
  await recordCrash(system.pool)
  const read = stageIds.map(async (stageId) => [stageId, await readReference(system, stageId)] as const)
  return new Map(await Promise.all(read))
}

export interface LoadedImport {
  readonly targets: readonly TargetProject[]
  readonly loaded: readonly LoadedStage[]
  /** As `readReferences` gave them, before anything of it was loaded. */
  readonly before: ReadonlyMap<string, StageReference>
}

/**
 * Makes all of an import visible at one moment, in one short transaction of Wharf's.
 *
 * @throws {AppError} CONFLICT where somebody wrote to a stage meanwhile; FORBIDDEN, UNAUTHENTICATED; what `authorise` and
 *   `beforeCommit` throw. Nothing has changed then.
 */
export async function commitImport(
  services: ImportServices,
  { targets, loaded, before }: LoadedImport,
  options: ImportOptions,
): Promise<readonly ImportedProject[]> {
  const [first] = targets
  if (first?.stages.some(({ isOwn }) => !isOwn)) return commitExternal(services, { target: first, loaded }, options)
  const { tokenId, sessionName, authorise, beforeCommit, operation } = options
  const { system, undoHours } = services
  const swaps = loaded.flatMap((stage) => toSwap(stage, before))
  const projects = targets.map(({ archived }) => archived)
  const slugs = targets.map(({ project }) => project.slug)
  const stages = targets.flatMap((target) => target.stages)
  const withRoles = targets.filter(({ archived }) => archived.system).map(({ project }) => project.id)
  const commit = async (tx: Transaction): Promise<readonly ImportedProject[]> => {
    if (sessionName !== undefined) await nameTransaction(tx, sessionName)
    await lockStages(tx, swaps)
    await lockRoles(tx, withRoles)
    // Before the archive's roles take the place of those by which the import was allowed.
    const caller = await authorise(tx, projects, slugs)
    await assertMayBuild(tx, tokenId, stages)
    const imported: ImportedProject[] = []
    for (const target of targets) {
      const roles = await planRolesOf(tx, target, caller)
      if (roles) {
        await applyRoles(tx, target.project.id, roles)
        const { eventsSince } = target.archived
        for (const { stage } of target.stages) await replaceLog(tx, stage.id, { tokenId, eventsSince })
      }
      imported.push(toImported(target, loaded, roles, services))
    }
    const replaced = await swapStages(tx, swaps, { tokenId, undoHours, jobId: operation?.id ?? null })
    // Nothing is kept of what was loaded in place, nor of what an import before that had replaced.
    const inPlace = loaded.filter(({ schemaName }) => schemaName === undefined)
    for (const { target } of inPlace) await expireKept(tx, target.stage.id)
    await beforeCommit?.(tx, imported, projects)
    // Until this transaction has ended, others give rights on what has the stage's name for them.
    const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
    for (const schema of replaced) await assertSettled(query, schema)
    // A separate transaction, of the project's login: if this one ends first, both are undone.
    for (const stage of inPlace) await stage.commit()
    return imported
  }
  try {
    return await system.prisma.$transaction(commit, { timeout: 10 * 60_000 })
  } finally {
    for (const { rollback } of loaded) rollback()
  }
}

function toSwap(
  { target, schemaName, rows, transactions }: LoadedStage,
  references: ReadonlyMap<string, StageReference>,
): Swap[] {
  const before = references.get(target.stage.id)
  if (schemaName === undefined || !before) return []
  const { rightsState, rights } = target
  const contents = { transactions, tables: [...rows.keys()] }
  return [{ stage: identityOf(target), before, rightsState, schemaName, contents, grants: rights.grants }]
}
