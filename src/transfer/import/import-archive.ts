import type { Database, Transaction } from '../../database/database.ts'
import { nameTransaction } from '../../database/session-name.ts'
import { conflict, type Fault } from '../../errors.ts'
import { recordCrash } from '../../events/record-crash.ts'
import { readReference, type StageReference } from '../../events/reference.ts'
import type { Caller } from '../../projects/access.ts'
import { unlessDeleted } from '../../projects/deleted-meanwhile.ts'
import { findProject } from '../../projects/projects.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import type { Turns } from '../../projects/turns.ts'
import { applyRoles, holdRoles } from './apply-roles.ts'
import type { PlannedProject } from './archive-plan.ts'
import { busyIfLocked } from './busy-if-locked.ts'
import type { CheckedArchive } from './checked-archive.ts'
import { type ImportedProject, toImported } from './import-result.ts'
import { assertNoDifferences, examineTarget, type TargetProject } from './import-targets.ts'
import { loadArchive } from './load-archive.ts'
import { takeLoadedEvents } from './load-events.ts'
import type { LoadedPart, LoadedStage } from './load-stage.ts'
import { planRolesOf } from './plan-roles.ts'
import { dropSideSchema, listDroppable } from './side-schemas.ts'
import { assertMayBuild } from './structure-permission.ts'
import { expireKept, holdStages, type Swap, swapStages } from './swap-stages.ts'

export interface ImportServices {
  readonly control: Database
  readonly system: Database
  /** Lends connections that last as long as an import. */
  readonly imports: Database
  readonly projectDatabase: FindProjectDatabase
  /** The projects' turns: how many imports each may have under way here. */
  readonly importTurns: Turns
  /** How many event logs may be loaded here at once. */
  readonly eventLoadTurns: Turns
  /** How long what an import replaced is kept, in hours; 0 keeps nothing. */
  readonly undoHours: number
}

export interface ImportOptions {
  /** Slug of the project that each of the archive's projects goes to, in their order. */
  readonly targets: readonly string[]
  /** The token that asked for it; null for the root token. */
  readonly tokenId: string | null
  /**
   * Looks again, in the transaction that makes the import visible and before it changes anything, whether the import may
   * be; keeps it so until the transaction ends.
   *
   * @returns who asked for it, as they are now.
   * @throws {AppError} where it may not be. Nothing has changed then.
   */
  readonly authorise: (tx: Transaction) => Promise<Caller>
  readonly signal: AbortSignal
  /** What PostgreSQL calls the import's sessions (`application_name`), so that others can find and end them. */
  readonly sessionName?: string
  /** Told of rows as they are loaded, but for those that were loaded ahead. */
  readonly onRows?: (loaded: LoadedPart) => void
  /**
   * Called at the end of the transaction that makes the import visible, as the last thing that can still stop it: what
   * it writes there is there just if the import is. Where it throws, nothing has changed.
   */
  readonly beforeCommit?: (tx: Transaction, imported: readonly ImportedProject[]) => Promise<void>
}

/**
 * Imports an archive over what is there: all its projects and stages together, or nothing.
 *
 * Nobody who reads the stages notices before the end: rows are loaded into schemas beside the stages' own, by the
 * projects' own logins, and then all schemas change places in one short transaction of Wharf's. Whatever dies before
 * that leaves the old data in place; what it leaves beside is dropped by the next import of the stage, or by the sweep.
 *
 * @throws {AppError} NOT_FOUND for an unknown project; CONFLICT where another import runs, the archive's structure does
 *   not fit (every difference listed), or its rows break a constraint; ARCHIVE_INVALID for a value that a column
 *   refuses. Nothing has changed then.
 */
export async function importArchive(
  services: ImportServices,
  archive: CheckedArchive,
  options: ImportOptions,
): Promise<readonly ImportedProject[]> {
  const { projectIds, stageIds } = await findPlaces(services.control, archive, options.targets)
  const runLocked = async (lost: AbortSignal): Promise<readonly ImportedProject[]> => {
    const signal = AbortSignal.any([options.signal, lost])
    await dropLeftovers(services.system, stageIds)
    const { tokenId } = options
    const targets = await examineAll(services, archive.projects, options.targets, { countRows: false, tokenId })
    const before = await readReferences(services.system, stageIds)
    try {
      const loaded = await loadArchive(services, archive, targets, { ...options, signal })
      signal.throwIfAborted()
      try {
        return await finish(services, { targets, loaded, before }, options)
      } finally {
        for (const stage of loaded) stage.abandon()
      }
    } catch (error) {
      // What cannot be dropped now is left to the sweep, and changes nothing about how the import ended.
      await Promise.allSettled([dropLeftovers(services.system, stageIds)])
      throw signal.aborted ? signal.reason : busyIfLocked(error)
    }
  }
  const imported = await unlessDeleted(services.control.prisma, options.targets, () =>
    services.importTurns.take(projectIds, () => withStageLocks(services, stageIds, runLocked, options)),
  )
  // What the import before this one had kept is of no use any more, and nobody has to wait until it is gone.
  void Promise.allSettled([dropExpired(services.system, stageIds)])
  return imported
}

/** Where the archive goes; a stage that does not exist is complained about when it is examined. */
async function findPlaces(
  control: Database,
  { projects }: CheckedArchive,
  targets: readonly string[],
): Promise<{ readonly projectIds: readonly string[]; readonly stageIds: readonly string[] }> {
  const places = projects.map(async (planned, index) => {
    const { id: projectId, stages } = await findProject(control.prisma, targets[index] ?? planned.slug)
    const taken = stages.filter(({ slug }) => planned.stages.some((stage) => stage.slug === slug))
    return { projectId, stageIds: taken.map(({ id }) => id) }
  })
  const found = await Promise.all(places)
  return {
    projectIds: found.map(({ projectId }) => projectId),
    stageIds: found.flatMap(({ stageIds }) => stageIds),
  }
}

/**
 * Looks at every target and compares it with what an archive has, and changes nothing.
 *
 * @param options `tokenId`: the token that asks; null for the root token.
 * @throws {AppError} NOT_FOUND; CONFLICT with every difference of every target, or where they can't be loaded together;
 *   FORBIDDEN where a stage would be built, and the token lacks `content.structure`.
 */
export async function examineAll(
  services: ImportServices,
  projects: readonly PlannedProject[],
  targets: readonly string[],
  { countRows, tokenId }: { readonly countRows: boolean; readonly tokenId: string | null },
): Promise<readonly TargetProject[]> {
  const differences: Fault[] = []
  const examined: TargetProject[] = []
  for (const [index, planned] of projects.entries()) {
    const slug = targets[index] ?? planned.slug
    examined.push(await examineTarget(services, planned, slug, { countRows, differences }))
  }
  assertNoDifferences(differences)
  assertLoadable(examined)
  await assertMayBuild(services.control.prisma, tokenId, examined)
  return examined
}

/** A stage that is loaded in place is committed by itself, so nothing else can be all-or-nothing with it. */
function assertLoadable(targets: readonly TargetProject[]): void {
  const stages = targets.flatMap(({ project, stages }) => stages.map((stage) => ({ project, ...stage })))
  const inPlace = stages.find(({ mode }) => mode === 'in place')
  if (!inPlace || (stages.length === 1 && !targets.some(({ planned }) => planned.system))) return
  throw conflict(
    `stage "${inPlace.stage.slug}" of project "${inPlace.project.slug}" has things that an archive does not describe ` +
      '(views, triggers, ...), so it can only be imported into alone: use an archive of this one stage, without the ' +
      'system section',
  )
}

/** While the stages' locks are held, nothing that is loading is anybody else's. */
async function dropLeftovers(system: Database, stageIds: readonly string[]): Promise<void> {
  for (const side of await listDroppable(system, stageIds)) if (side.kind !== 'kept') await dropSideSchema(system, side)
  await system.prisma.loadingEvent.deleteMany({ where: { stageId: { in: [...stageIds] } } })
}

/** Who reads what has expired may go on: it is left to the sweep then. No undo wants it. */
async function dropExpired(system: Database, stageIds: readonly string[]): Promise<void> {
  for (const side of await listDroppable(system, stageIds)) if (side.kind === 'kept') await dropSideSchema(system, side)
}

async function readReferences(
  system: Database,
  stageIds: readonly string[],
): Promise<ReadonlyMap<string, StageReference>> {
  await recordCrash(system.pool)
  const read = stageIds.map(async (stageId) => [stageId, await readReference(system, stageId)] as const)
  return new Map(await Promise.all(read))
}

interface LoadedImport {
  readonly targets: readonly TargetProject[]
  readonly loaded: readonly LoadedStage[]
  readonly before: ReadonlyMap<string, StageReference>
}

/** The one moment at which everything becomes visible. */
async function finish(
  services: ImportServices,
  { targets, loaded, before }: LoadedImport,
  { tokenId, authorise, sessionName, beforeCommit }: ImportOptions,
): Promise<readonly ImportedProject[]> {
  const { system, undoHours } = services
  const swaps = loaded.flatMap((stage) => toSwap(stage, before))
  return system.prisma.$transaction(
    async (tx) => {
      if (sessionName !== undefined) await nameTransaction(tx, sessionName)
      await holdStages(tx, swaps)
      await holdRoles(
        tx,
        targets.filter(({ planned }) => planned.system).map(({ project }) => project.id),
      )
      // Before the archive's roles take the place of those by which the import was allowed.
      const caller = await authorise(tx)
      await assertMayBuild(tx, tokenId, targets)
      const imported: ImportedProject[] = []
      for (const target of targets) {
        const roles = await planRolesOf(tx, target, caller)
        if (roles) {
          await applyRoles(tx, target.project.id, roles)
          for (const { stage } of target.stages) await takeLoadedEvents(tx, stage.id, tokenId)
        }
        imported.push(toImported(target, loaded, roles, services))
      }
      await swapStages(tx, swaps, { tokenId, undoHours })
      // Nothing is kept of what was loaded in place, nor of what an import before that had replaced.
      for (const { target, loadingSchema } of loaded) if (!loadingSchema) await expireKept(tx, target.stage.id)
      await beforeCommit?.(tx, imported)
      // A transaction of its own, of the project's login: whoever ends this one first undoes both.
      for (const { commit } of loaded) await commit?.()
      return imported
    },
    { timeout: 10 * 60_000 },
  )
}

function toSwap(
  { target, project, loadingSchema, rows, transaction }: LoadedStage,
  references: ReadonlyMap<string, StageReference>,
): Swap[] {
  const { id: stageId, schemaName } = target.stage
  const before = references.get(stageId)
  if (loadingSchema === undefined || !before) return []
  const contents = { transaction, tables: [...rows.keys()] }
  return [{ stage: { stageId, schemaName, login: project.login }, before, schemaName: loadingSchema, contents }]
}
