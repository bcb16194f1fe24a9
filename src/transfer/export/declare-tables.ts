import type { ExportSelection } from '../../contract/export.ts'
import type { Transaction } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { notFound } from '../../errors.ts'
import type { Project } from '../../projects/projects.ts'
import type { Stage } from '../../projects/stages.ts'
import { readStructure, type StageStructure, type TableStructure } from '../structure/read-structure.ts'
import { excludeTables } from './exclude-tables.ts'
import type { ProjectSnapshot } from './snapshot.ts'
import { declareTableCursor, type TableCursor } from './table-pages.ts'

/** A project whose tables' cursors are open. */
export interface DeclaredProject {
  readonly project: Project
  readonly selection: ExportSelection
  readonly tx: Transaction
  readonly stages: readonly DeclaredStage[]
}

export interface DeclaredStage {
  readonly stage: Stage
  readonly structure: StageStructure
  /** Those that have rows of their own, as partitioned tables have not. */
  readonly tables: readonly DeclaredTable[]
}

export interface DeclaredTable extends TableStructure {
  readonly cursor: TableCursor
}

/** Thrown where a stage's tables are not those that were locked: it was swapped, or changed, in between. */
export class StageMoved extends Error {
  override readonly name = 'StageMoved'
}

/**
 * Reads the structure of a project's stages and declares a cursor for every table, before the first row is read: a
 * cursor holds on to the table that it found, so a swap that comes later cannot change what it reads.
 *
 * @throws {StageMoved} where the tables are not those that were locked.
 * @throws {AppError} NOT_FOUND for a table to exclude that no stage has.
 */
export async function declareTables(
  { project, stages, tx, lockedTables }: ProjectSnapshot,
  selection: ExportSelection,
): Promise<DeclaredProject> {
  const excluded = selection.excludeTables ?? []
  const found = new Set<string>()
  const declared: DeclaredStage[] = []
  for (const stage of stages) {
    await tx.$executeRawUnsafe(`SET LOCAL search_path = ${quoteIdentifier(stage.schemaName)}`)
    const whole = await readStructure((sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters), stage.schemaName)
    assertLocked(whole.tables, lockedTables.get(stage.slug))
    for (const { line } of whole.tables) found.add(line.name)
    const structure = excludeTables(whole, excluded)
    declared.push({ stage, structure, tables: await declareCursors(tx, stage, structure.tables) })
  }
  const unknown = excluded.find((name) => !found.has(name))
  if (unknown !== undefined) throw notFound('table', unknown, `in project "${project.slug}"`)
  return { project, selection, tx, stages: declared }
}

function assertLocked(tables: readonly TableStructure[], locked: ReadonlySet<string> | undefined): void {
  for (const { oid } of tables) {
    if (!locked?.has(String(oid))) throw new StageMoved('a table came after the locks were taken')
  }
}

async function declareCursors(
  tx: Transaction,
  stage: Stage,
  tables: readonly TableStructure[],
): Promise<readonly DeclaredTable[]> {
  const declared: DeclaredTable[] = []
  for (const table of tables) {
    if (table.line.partitionBy !== undefined) continue
    const source = {
      schemaName: stage.schemaName,
      tableName: table.line.name,
      expressions: table.columns.map(({ expression }) => expression),
      toasted: table.toasted,
    }
    const cursor = await declareTableCursor(tx, source, `wharf_${table.oid}`)
    declared.push({ ...table, cursor })
  }
  return declared
}
