import type { Database, Transaction } from '../../database/database.ts'
import { nameTransaction } from '../../database/session-name.ts'
import { conflict, type Fault } from '../../errors.ts'
import { readReference, type StageReference } from '../../events/reference.ts'
import { findProject } from '../../projects/projects.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import { withStageLocks } from '../../projects/stage-locks.ts'
import { applyRoles } from './apply-roles.ts'
import type { PlannedProject } from './archive-plan.ts'
import { type ImportedProject, toImported } from './import-result.ts'
import { assertNoDifferences, examineTarget, type TargetProject } from './import-targets.ts'
import type { LoadAhead } from './load-ahead.ts'
import { loadArchive } from './load-archive.ts'
import { takeLoadedEvents } from './load-events.ts'
import type { LoadedPart, LoadedStage } from './load-stage.ts'
import { dropSideSchema, listDroppable } from './side-schemas.ts'
import type { ByteRange } from './spool-file.ts'
import { expireKept, holdStages, type Swap, swapStages } from './swap-stages.ts'

export interface ImportServices {
  readonly control: Database
  readonly system: Database
  /** Lends connections that last as long as an import. */
  readonly snapshots: Database
  readonly projectDatabase: FindProjectDatabase
  /** How long what an import replaced is kept, in hours; 0 keeps nothing. */
  readonly undoHours: number
}

/** An archive that has been read through once and found whole. */
export interface CheckedArchive {
  readonly projects: readonly PlannedProject[]
  /**
   * Reads what its plan says is there: the rows of a part, the events of a project. A chunk is good until the next
   * one is asked for.
   */
  read(range: ByteRange, signal: AbortSignal): AsyncIterable<Buffer>
  /** What of it has been loaded while it was read. */
  readonly ahead?: LoadAhead
}

export interface ImportOptions {
  /** Slug of the project that each of the archive's projects goes to, in their order. */
  readonly targets: readonly string[]
  /** The token that asked for it; null for the root token. */
  readonly tokenId: string | null
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
  const stageIds = await findStageIds(services.control, archive, options.targets)
  const runLocked = async (lost: AbortSignal): Promise<readonly ImportedProject[]> => {
    const signal = AbortSignal.any([options.signal, lost])
    await dropLeftovers(services.system, stageIds)
    const targets = await examineAll(services, archive.projects, options.targets, { countRows: false })
    const before = await readReferences(services.system, stageIds)
    try {
      const loaded = await loadArchive(services, archive, targets, { ...options, signal })
      signal.throwIfAborted()
      const imported = targets.map((target) => toImported(target, loaded, services))
      try {
        await finish(services, { targets, loaded, before, imported }, options)
      } finally {
        for (const stage of loaded) stage.abandon()
      }
      return imported
    } catch (error) {
      // What cannot be dropped now is left to the sweep, and changes nothing about how the import ended.
      await Promise.allSettled([dropLeftovers(services.system, stageIds)])
      throw signal.aborted ? signal.reason : error
    }
  }
  const imported = await withStageLocks(services.snapshots, stageIds, runLocked, options)
  // What the import before this one had kept is of no use any more, and nobody has to wait until it is gone.
  void Promise.allSettled([dropExpired(services.system, stageIds)])
  return imported
}

/** The stages that the archive goes to; one that does not exist is complained about when it is examined. */
async function findStageIds(
  control: Database,
  { projects }: CheckedArchive,
  targets: readonly string[],
): Promise<readonly string[]> {
  const ids = projects.map(async (planned, index) => {
    const { stages } = await findProject(control.prisma, targets[index] ?? planned.slug)
    return stages.filter(({ slug }) => planned.stages.some((stage) => stage.slug === slug)).map(({ id }) => id)
  })
  return (await Promise.all(ids)).flat()
}

/**
 * Looks at every target and compares it with what an archive has, and changes nothing.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT with every difference of every target, or where they can't be loaded together.
 */
export async function examineAll(
  services: ImportServices,
  projects: readonly PlannedProject[],
  targets: readonly string[],
  { countRows }: { readonly countRows: boolean },
): Promise<readonly TargetProject[]> {
  const differences: Fault[] = []
  const examined: TargetProject[] = []
  for (const [index, planned] of projects.entries()) {
    const slug = targets[index] ?? planned.slug
    examined.push(await examineTarget(services, planned, slug, { countRows, differences }))
  }
  assertNoDifferences(differences)
  assertLoadable(examined)
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
  const read = stageIds.map(async (stageId) => [stageId, await readReference(system, stageId)] as const)
  return new Map(await Promise.all(read))
}

interface LoadedImport {
  readonly targets: readonly TargetProject[]
  readonly loaded: readonly LoadedStage[]
  readonly before: ReadonlyMap<string, StageReference>
  readonly imported: readonly ImportedProject[]
}

/** The one moment at which everything becomes visible. */
async function finish(
  { system, undoHours }: ImportServices,
  { targets, loaded, before, imported }: LoadedImport,
  { tokenId, sessionName, beforeCommit }: ImportOptions,
): Promise<void> {
  const swaps = loaded.flatMap((stage) => toSwap(stage, before))
  await system.prisma.$transaction(
    async (tx) => {
      if (sessionName !== undefined) await nameTransaction(tx, sessionName)
      await holdStages(tx, swaps)
      for (const { planned, project, stages } of targets) {
        if (!planned.system) continue
        await applyRoles(tx, project.id, planned.roles)
        for (const { stage } of stages) await takeLoadedEvents(tx, stage.id)
      }
      await swapStages(tx, swaps, { tokenId, undoHours })
      // Nothing is kept of what was loaded in place, nor of what an import before that had replaced.
      for (const { target, loadingSchema } of loaded) if (!loadingSchema) await expireKept(tx, target.stage.id)
      await beforeCommit?.(tx, imported)
      // A transaction of its own, of the project's login: whoever ends this one first undoes both.
      for (const { commit } of loaded) await commit?.()
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
