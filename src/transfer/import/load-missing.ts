import type { Database } from '../../database/database.ts'
import { loadLog } from '../../events/load-log.ts'
import { helpersOf } from '../export/spare-sessions.ts'
import { loadExternal } from './external/load-external.ts'
import { followArchive } from './follow-archive.ts'
import { HelpedLoadFailed } from './help-loading.ts'
import type { ImportOptions, ImportServices } from './import-options.ts'
import type { EarlyLoads } from './load-early.ts'
import { type LoadedStage, loadStage } from './load-stage.ts'
import type { Archive } from './receive-archive.ts'
import { openLoading } from './resume/open-loading.ts'
import { commitLoaded, dropShadowSchema } from './shadow-schemas.ts'
import type { TargetStage } from './target-stage.ts'
import type { TargetProject } from './targets.ts'

/**
 * Loads what was not loaded while the archive arrived: stages into schemas beside their own, and event logs beside theirs.
 * The caller has the locks of the stages.
 *
 * @param targets the stages as they are now.
 * @returns each stage, loaded and counted. Those beside are committed but not swapped in; one that was loaded in place
 *   waits to be committed or rolled back.
 * @throws {AppError} as `loadStage`. What was loaded so far is left in schemas that the caller drops.
 */
export async function loadMissing(
  services: ImportServices,
  archive: Archive,
  { targets, early }: { readonly targets: readonly TargetProject[]; readonly early: EarlyLoads },
  options: ImportOptions,
): Promise<readonly LoadedStage[]> {
  const loaded: LoadedStage[] = []
  for (const target of targets) {
    if (target.archived.system) await loadLogInTurn(services, archive, target, options)
    if (target.stages.some(({ isOwn }) => !isOwn)) {
      loaded.push(...(await loadNoted(services.system, archive, target.stages, options)))
      continue
    }
    for (const stage of target.stages) {
      loaded.push(
        (await early.commit(stage, options.signal)) ??
          (await loadNow(services, archive, stage, { ...options, mayBeHelped: early.mayBeHelped })),
      )
    }
  }
  options.signal.throwIfAborted()
  return loaded
}

async function loadNow(
  services: ImportServices,
  archive: Archive,
  target: TargetStage,
  { mayBeHelped, ...options }: ImportOptions & Pick<EarlyLoads, 'mayBeHelped'>,
): Promise<LoadedStage> {
  const { system, logger } = services
  const follower = followArchive(archive, options)
  if (target.mode === 'in place') return loadStage(follower, target, { ...options, schemaName: undefined })
  const opened = await openLoading(system, target, 'loading', options.attempt)
  const { schemaName, saves } = opened
  const helpers = mayBeHelped ? helpersOf(services, target.project) : undefined
  try {
    const loaded = await loadStage(follower, target, { ...options, ...opened, helpers })
    const { login, comment } = target
    await commitLoaded(system, { schemaName, login, comment, commit: loaded.commit })
    return loaded
  } catch (error) {
    options.signal.throwIfAborted()
    if (!(error instanceof HelpedLoadFailed)) throw error
    logger.info({ err: error, stageId: target.stage.id }, 'one session loads what several could not')
    if (!saves.isKept) await dropShadowSchema(system, { schemaName, kind: 'loading' })
    return loadNow(services, archive, target, { ...options, mayBeHelped: false })
  }
}

/** Schemas are known here before they are made there, so that they are found again whatever dies. */
const loadNoted = (
  system: Database,
  archive: Archive,
  stages: readonly TargetStage[],
  options: ImportOptions,
): Promise<readonly LoadedStage[]> => {
  const note = async ({ stage }: TargetStage, schemaName: string): Promise<void> => {
    await system.prisma.shadowSchema.create({ data: { schemaName, stageId: stage.id, kind: 'loading' } })
  }
  return loadExternal(archive, stages, { ...options, note })
}

async function loadLogInTurn(
  services: ImportServices,
  { file }: Archive,
  { archived, project, stages }: TargetProject,
  { signal, sessionName }: ImportOptions,
): Promise<void> {
  const stageIds = new Map(stages.map(({ stage }) => [stage.slug, stage.id]))
  const lines = file.read([archived.eventLines], signal)
  await services.eventLoadTurns.take([project.id], () => loadLog(services.imports, stageIds, lines, { sessionName }))
}
