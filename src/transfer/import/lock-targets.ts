import type { Database } from '../../database/database.ts'
import { dropLoadingLogs } from '../../events/load-log.ts'
import { unlessDeleted } from '../../projects/deleted-meanwhile.ts'
import { findProject } from '../../projects/projects.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import type { ArchiveProject } from './archive-lists.ts'
import { settleDoubts } from './external/settle-doubts.ts'
import type { ImportServices } from './import-options.ts'
import type { SessionOptions } from './loading-session.ts'
import { busyIfLocked } from './lock-against-writes.ts'
import { type DroppingServices, dropBeside, listDroppable, type ShadowSchema } from './shadow-schemas.ts'

/**
 * Runs `use` while nobody else can import into the stages that an archive goes to, and clears away what earlier imports
 * have left beside them or unsaid, as it does with what `use` leaves where it fails.
 *
 * @param slugs of the projects that those of the archive go to, in their order.
 * @param use gets the ids of the stages, and a signal to end by.
 * @throws {AppError} NOT_FOUND for an unknown project; CONFLICT where another import runs; PROJECT_BUSY where a project
 *   has too many under way.
 */
export async function withTargetsLocked<T>(
  services: ImportServices,
  { projects, slugs }: { readonly projects: readonly ArchiveProject[]; readonly slugs: readonly string[] },
  options: SessionOptions,
  use: (stageIds: readonly string[], signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { control, importTurns } = services
  const { projectIds, stageIds } = await findTargets(control, projects, slugs)
  const runLocked = async (lost: AbortSignal): Promise<T> => {
    const signal = AbortSignal.any([options.signal, lost])
    await settleDoubts(services, stageIds)
    await dropLeftovers(services, stageIds)
    try {
      return await use(stageIds, signal)
    } catch (error) {
      // The sweep drops what cannot be dropped now. It changes nothing about how the import ended.
      await Promise.allSettled([dropLeftovers(services, stageIds)])
      throw signal.aborted ? signal.reason : busyIfLocked(error)
    }
  }
  const result = await unlessDeleted(control.prisma, slugs, () =>
    importTurns.take(projectIds, () => withStageLocks(services, stageIds, runLocked, options)),
  )
  // What the previous import kept is no longer needed, since no undo wants it. Nothing waits until it is dropped: where
  // somebody still reads it, the sweep drops it later.
  void Promise.allSettled([dropThose(services, stageIds, ({ kind }) => kind === 'kept')])
  return result
}

/** A stage that does not exist is complained about when it is compared. */
async function findTargets(
  control: Database,
  projects: readonly ArchiveProject[],
  slugs: readonly string[],
): Promise<{ readonly projectIds: readonly string[]; readonly stageIds: readonly string[] }> {
  const found = await Promise.all(
    projects.map(async (archived, index) => {
      const { id, stages } = await findProject(control.prisma, slugs[index] ?? archived.slug)
      return { id, stages: stages.filter(({ slug }) => archived.stages.some((stage) => stage.slug === slug)) }
    }),
  )
  return {
    projectIds: found.map(({ id }) => id),
    stageIds: found.flatMap(({ stages }) => stages.map(({ id }) => id)),
  }
}

/** While the stages' locks are held, nothing that is loading is anybody else's. */
async function dropLeftovers(services: DroppingServices, stageIds: readonly string[]): Promise<void> {
  const { system } = services
  await dropThose(services, stageIds, ({ kind }) => kind !== 'kept')
  await dropLoadingLogs(system, stageIds)
}

async function dropThose(
  services: DroppingServices,
  stageIds: readonly string[],
  isMeant: (schema: ShadowSchema) => boolean,
): Promise<void> {
  for (const schema of await listDroppable(services.system, stageIds))
    if (isMeant(schema)) await dropBeside(services, schema)
}
