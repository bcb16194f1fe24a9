import type { Database } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { SQLSTATE, sqlState } from '../../database/sqlstate.ts'
import { conflict, type Fault, invalidRequest } from '../../errors.ts'
import { stillLocked } from '../../projects/lock-holders.ts'
import { findProject, type Project } from '../../projects/projects.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Stage } from '../../projects/stages.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import type { Query } from '../structure/query.ts'
import { readStructure, type StageStructure } from '../structure/read-structure.ts'
import type { PlannedProject, PlannedStage } from './archive-plan.ts'
import { compareStructures } from './compare-structures.ts'
import { countRows } from './count-rows.ts'
import { isUsedFromOutside } from './outside-users.ts'

/** At most this many differences are listed; there may be as many as an archive has lines. */
const MAX_DIFFERENCES = 1_000

/** How a stage's rows come into it. */
export type LoadingMode =
  /** The stage is empty: it is built from the archive's structure lines, beside, and swapped in. */
  | 'build'
  /** The stage is rebuilt from its own structure, beside, and swapped in. */
  | 'swap'
  /**
   * The stage has what structure lines can't describe, or something outside of it hangs on its tables: they are
   * emptied and loaded where they are.
   */
  | 'in place'

export interface TargetStage {
  readonly planned: PlannedStage
  readonly stage: Stage
  readonly mode: LoadingMode
  /** What the stage is after the import; for `build` the archive's structure, else its own. */
  readonly structure: StructureLines
  readonly comment: string | undefined
  /** Rows in the tables now, by table; empty where nobody asked for them. */
  readonly rowsNow: ReadonlyMap<string, number>
}

export interface TargetProject {
  readonly planned: PlannedProject
  readonly project: Project
  readonly database: Database
  readonly stages: readonly TargetStage[]
}

/**
 * Where each project of an archive goes: to what the request says, else to what the file says, else to its own name.
 *
 * @param requested at most for an archive of one project.
 * @returns slugs, in the order of the archive's projects.
 * @throws {AppError} INVALID_REQUEST where a target is named for several projects, or is that of two.
 */
export function targetSlugs(planned: readonly PlannedProject[], requested: string | undefined): readonly string[] {
  if (requested !== undefined && planned.length !== 1) {
    throw invalidRequest(`a target can be named for an archive of one project; this one has ${planned.length}`)
  }
  const slugs = new Set<string>()
  for (const project of planned) {
    const slug = targetSlug(project, requested)
    if (slugs.has(slug)) throw invalidRequest(`two projects of the archive go to "${slug}"`)
    slugs.add(slug)
  }
  return [...slugs]
}

const targetSlug = (planned: PlannedProject, requested: string | undefined): string =>
  requested ?? planned.targetSlug ?? planned.slug

/**
 * Looks at a target as it is, and compares it with what is to come.
 *
 * @param slug of a project whose stages all exist.
 * @param countRows whether to count the rows that there are now, which reads every table.
 * @param differences gets every difference in words; nothing can be loaded if there is one.
 */
export async function examineTarget(
  { control, projectDatabase }: { readonly control: Database; readonly projectDatabase: FindProjectDatabase },
  planned: PlannedProject,
  slug: string,
  { countRows, differences }: { readonly countRows: boolean; readonly differences: Fault[] },
): Promise<TargetProject> {
  const project = await findProject(control.prisma, slug)
  const database = await projectDatabase(project, 'imports')
  const stages: TargetStage[] = []
  for (const plannedStage of planned.stages) {
    const stage = project.stages.find((candidate) => candidate.slug === plannedStage.slug)
    if (!stage) {
      differences.push({
        detail: `project "${slug}" has no stage "${plannedStage.slug}"; create it first (stage:create, or POST /projects/${slug}/stages)`,
      })
      continue
    }
    const target = await examineStage(database, plannedStage, stage, { countRows })
    for (const difference of differencesOf(target)) {
      differences.push({ detail: `${slug}/${stage.slug}: ${difference}` })
    }
    stages.push(target)
  }
  return { planned, project, database, stages }
}

/** Looks at a stage as it is. @param database as the project's own login sees it. */
export async function examineStage(
  database: Database,
  planned: PlannedStage,
  stage: Stage,
  { countRows }: { readonly countRows: boolean },
): Promise<TargetStage> {
  return toTargetStage(planned, stage, await readTarget(database, stage, countRows))
}

/** How what is to come differs from what is there, in words. */
export const differencesOf = ({ mode, planned, structure }: TargetStage): readonly string[] =>
  mode === 'build' ? [] : compareStructures(planned.structure, structure)

/** @throws {AppError} CONFLICT, where there are any. */
export function assertNoDifferences(differences: readonly Fault[]): void {
  const [first, ...others] = differences
  if (!first) return
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  throw conflict(`the archive does not fit its target: ${first.detail}${more}`, differences.slice(0, MAX_DIFFERENCES))
}

/** Whether there is nothing in a stage, so that an archive would build it. */
export const isEmpty = ({ types, sequences, tables, notExported }: StageStructure): boolean =>
  [types, sequences, tables, notExported].every((list) => list.length === 0)

/** Whether a stage is empty now. @param database as the project's own login sees it. */
export const isEmptyStage = async (database: Database, stage: Stage): Promise<boolean> =>
  isEmpty((await readTarget(database, stage, false)).structure)

interface CurrentStage {
  readonly structure: StageStructure
  readonly usedFromOutside: boolean
  readonly rows: ReadonlyMap<string, number>
}

/** How long it is waited for a table that another session has locked: nobody can write to the stage meanwhile. */
const LOCK_TIMEOUT = '5s'

/** @throws {AppError} CONFLICT where a table stays locked. */
async function readTarget(database: Database, stage: Stage, countRowsToo: boolean): Promise<CurrentStage> {
  return readWithin(database, stage, countRowsToo).catch(async (error: unknown) => {
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    const { schemaName } = stage
    const query = async (sql: string, parameters: readonly unknown[]) =>
      (await database.pool.query(sql, [...parameters])).rows
    throw await stillLocked(query, { schemaName, what: 'the stage could not be looked at', cause: error })
  })
}

function readWithin(database: Database, stage: Stage, countRowsToo: boolean): Promise<CurrentStage> {
  return database.prisma.$transaction(
    async (tx) => {
      await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
      await tx.$executeRawUnsafe(`SET LOCAL search_path = ${quoteIdentifier(stage.schemaName)}`)
      await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
      const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
      const structure = await readStructure(query, stage.schemaName)
      const usedFromOutside = await isUsedFromOutside(query, stage.schemaName)
      const tables = countRowsToo ? structure.tables.map(({ line }) => line.name) : []
      const counted = await countRows(tx, stage.schemaName, tables)
      const rows = new Map(counted.map((table) => [table.name, table.rows]))
      return { structure, usedFromOutside, rows }
    },
    { isolationLevel: 'RepeatableRead', timeout: 10 * 60_000 },
  )
}

function toTargetStage(
  planned: PlannedStage,
  stage: Stage,
  { structure, usedFromOutside, rows }: CurrentStage,
): TargetStage {
  const { types, sequences, tables, notExported, comment } = structure
  const common = { planned, stage, rowsNow: rows }
  if (isEmpty(structure)) {
    return { ...common, mode: 'build', structure: planned.structure, comment: planned.comment ?? comment }
  }
  const current = { types, sequences, tables: tables.map(({ line }) => line) }
  return {
    ...common,
    mode: notExported.length > 0 || usedFromOutside ? 'in place' : 'swap',
    structure: withPositions(current, planned.structure),
    comment,
  }
}

/**
 * A structure whose sequences go on where those of the archive stood. Those of identity columns go by their columns:
 * a sequence keeps its name when its table is renamed.
 */
function withPositions({ types, sequences, tables }: StructureLines, archive: StructureLines): StructureLines {
  const positions = new Map<string, Position>(
    archive.sequences.map((sequence) => [sequence.name, positionOf(sequence)]),
  )
  const identities = new Map<string, Position>(
    archive.tables.flatMap(({ name, columns }) =>
      columns.flatMap((column) =>
        column.identity ? [[columnKey(name, column.name), positionOf(column.identity.sequence)] as const] : [],
      ),
    ),
  )
  return {
    types,
    sequences: sequences.map((sequence) => ({ ...sequence, ...positions.get(sequence.name) })),
    tables: tables.map((table) => ({
      ...table,
      columns: table.columns.map((column) => {
        if (!column.identity) return column
        const position = identities.get(columnKey(table.name, column.name))
        return { ...column, identity: { ...column.identity, sequence: { ...column.identity.sequence, ...position } } }
      }),
    })),
  }
}

interface Position {
  readonly value: string
  readonly called: boolean
}

const positionOf = ({ value, called }: Position): Position => ({ value, called })

const columnKey = (table: string, column: string): string => JSON.stringify([table, column])
