import { LRUCache } from 'lru-cache'
import type { Queryable } from '../../database/database.ts'
import { forgetReplacedLog } from '../../events/attached/log-import.ts'
import { findLog, missingTriggers } from '../../events/attached/log-triggers.ts'
import type { Logger } from '../../logger.ts'
import type { FindProjectDatabase } from '../stage-database.ts'
import { logQuery, makeTriggers } from './event-log.ts'

/** After how long a stage is repaired again that was found wanting again, and after a failure, in milliseconds. */
const PAUSE_MS = 1_000
const PAUSE_AFTER_FAILURE_MS = 15_000

/** Others who write wait behind us while we wait: it is tried again soon. */
const PATIENCE_MS = 0

interface RepairServices {
  readonly projectDatabase: FindProjectDatabase
  readonly logger: Logger
}

interface RepairedStage {
  readonly project: { readonly id: string; readonly slug: string }
  readonly stage: { readonly id: string; readonly schemaName: string }
}

/**
 * Repairs, in the background, the log of a stage in a database that is not Wharf's: tables that others have made there
 * since, or whose triggers they changed, get theirs. Nothing of the stage counts as known until then.
 */
export function createLogRepair(services: RepairServices): (of: RepairedStage) => void {
  const recent = new LRUCache<string, true>({ max: 10_000 })
  return (of) => {
    if (recent.has(of.stage.id)) return
    recent.set(of.stage.id, true, { ttl: PAUSE_AFTER_FAILURE_MS })
    void repairLog(services, of).then((isRepaired) => {
      if (isRepaired) recent.set(of.stage.id, true, { ttl: PAUSE_MS })
    })
  }
}

/** The same of all such stages. */
export async function repairLogs(
  services: RepairServices & { readonly control: { readonly prisma: Queryable } },
): Promise<void> {
  const stages = await services.control.prisma.stage.findMany({
    where: { loggedSince: { not: null } },
    include: { project: true },
  })
  for (const { project, ...stage } of stages) await repairLog(services, { project, stage })
}

/** @returns false where it is to be tried again later. */
async function repairLog(
  { projectDatabase, logger }: RepairServices,
  { project, stage }: RepairedStage,
): Promise<boolean> {
  const { schemaName } = stage
  try {
    const { database } = await projectDatabase(project, 'imports')
    const query = logQuery(database)
    const stageId = await findLog(query, schemaName)
    if (stageId === undefined) return true
    await forgetReplacedLog(query, stageId)
    if ((await missingTriggers(query, schemaName)).length > 0) await makeTriggers(database, schemaName, PATIENCE_MS)
    return true
  } catch (error) {
    logger.warn({ err: error, project: project.slug, schemaName }, 'tables of an attached stage keep no event log yet')
    return false
  }
}
