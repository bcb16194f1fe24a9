import type { ExportSelection } from '../../contract/export.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { invalidRequest } from '../../errors.ts'
import { unlessDeleted } from '../../projects/deleted-meanwhile.ts'
import type { Project } from '../../projects/projects.ts'
import { type FindRoles, readRoles } from '../../projects/role-names.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Turns } from '../../projects/turns.ts'
import { StageMoved } from './declare-tables.ts'
import type { ProjectRecords } from './export-archive.ts'
import { findSelection } from './export-selection.ts'
import type { HelperRoom } from './helper-room.ts'
import type { SnapshotSource } from './locked-source.ts'
import {
  declareAll,
  type ExportOptions,
  type Opening,
  openExport,
  type UseExport,
  type Writing,
} from './open-export.ts'
import { type SourceSnapshot, withOwnSnapshot } from './snapshot.ts'
import { helpersOf } from './spare-sessions.ts'
import { usualJobs } from './usual-jobs.ts'

export interface ExportServices extends Writing {
  readonly control: Database
  readonly system: Database
  /** Lends connections that last as long as an export. */
  readonly snapshots: Database
  readonly projectDatabase: FindProjectDatabase
  /** The projects' turns: how many exports each may have under way here. */
  readonly exportTurns: Turns
  /** How many sessions may help. */
  readonly helperRoom: HelperRoom
}

/**
 * Opens an export of one or more projects, and closes it when `use` has ended: its transactions are over when the returned
 * promise is settled. All projects in Wharf's own database are of one snapshot, each other of one of its own.
 *
 * @param use gets the archive, plain, which can be read once, and a list of what it does not contain; by then everything that
 *   could be refused has been checked.
 * @throws {AppError} INVALID_REQUEST where a project is selected twice; NOT_FOUND for an unknown project, stage or
 *   table; INCOMPLETE where rows would be missing, and that is not allowed; CONFLICT where a table may not be read, or stays locked, or stages keep being swapped, for too long;
 *   PROJECT_BUSY where it has too many exports under way;
 *   DATABASE_UNAVAILABLE where no connection becomes free.
 */
export async function withExport<T>(
  services: ExportServices,
  selections: readonly ExportSelection[],
  use: UseExport<T>,
  options: ExportOptions = {},
): Promise<T> {
  assertDistinct(selections)
  const { control, system, snapshots, exportTurns } = services
  const found = await Promise.all(selections.map((selection) => findSelected(services, selection)))
  const sources = found.map(({ source }) => source)
  const projectIds = found.map(({ project }) => project.id)
  const idOf = new Map(found.map(({ project }) => [project.slug, project.id]))
  const findRoles: FindRoles = (names) => readRoles(control.prisma, names)

  const open = (opening: Opening): Promise<T> => {
    const withTransaction = async (tx: Transaction, read: readonly SourceSnapshot[]): Promise<T> => {
      const projects = await declareAll(findRoles, read, selections)
      await assertNotSwapped(system, tx, read)
      const records = (slug: string): ProjectRecords => ({ tx, projectId: idOf.get(slug) ?? '' })
      return opening.hand(use, { projects, records })
    }
    return withOwnSnapshot(snapshots, sources, withTransaction, opening)
  }
  return unlessDeleted(control.prisma, [...idOf.keys()], () =>
    exportTurns.take(projectIds, () =>
      openExport(services, [system, ...external(sources)], open, {
        ...options,
        jobs: options.jobs ?? usualJobs(options),
      }),
    ),
  )
}

/** The databases of sources that are not in Wharf's own. */
const external = (sources: readonly SnapshotSource[]): readonly Database[] =>
  sources.filter(({ isOwn }) => !isOwn).map(({ database }) => database)

function assertDistinct(selections: readonly ExportSelection[]): void {
  const faults = selections.flatMap(({ slug }, index) =>
    selections.findIndex((other) => other.slug === slug) < index
      ? [{ pointer: `/projects/${index}/slug`, detail: `project "${slug}" is selected twice` }]
      : [],
  )
  if (faults.length > 0) throw invalidRequest('each project can be exported once', faults)
}

async function findSelected(
  { control, projectDatabase, helperRoom }: ExportServices,
  selection: ExportSelection,
): Promise<{ readonly project: Project; readonly source: SnapshotSource }> {
  const { project, stages } = await findSelection(control.prisma, selection)
  const helpers = helpersOf({ projectDatabase, helperRoom }, project)
  return { project, source: { ...(await projectDatabase(project, 'exports')), stages, helpers } }
}

/**
 * Compares the generation of every stage in the snapshot with the one of this moment. PostgreSQL looks a table up
 * by its name when a cursor is declared, also in an old snapshot, so that a swap which came between the two would
 * give the cursor the new table. Where a stage is not in Wharf's own database, a swap waits for the locks on its tables.
 *
 * @param tx of the snapshot.
 */
async function assertNotSwapped(system: Database, tx: Transaction, sources: readonly SourceSnapshot[]): Promise<void> {
  const stageIds = sources.flatMap(({ isOwn, stages }) => (isOwn ? stages.map(({ id }) => id) : []))
  const generations = { where: { stageId: { in: stageIds } }, select: { stageId: true, generation: true } }
  const then = await tx.stageState.findMany(generations)
  const now = new Map(
    (await system.prisma.stageState.findMany(generations)).map((row) => [row.stageId, row.generation]),
  )
  for (const { stageId, generation } of then) {
    if (now.get(stageId) !== generation) throw new StageMoved('a stage was swapped while its cursors were declared')
  }
}
