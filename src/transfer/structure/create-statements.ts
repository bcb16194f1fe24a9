import { setDefaults } from './columns.ts'
import {
  checkStatements,
  exclusionStatements,
  foreignKeyStatements,
  hasPlainIndexes,
  indexStatements,
  keyStatements,
  plainIndexStatements,
} from './constraints.ts'
import { lineStatements } from './line-statements.ts'
import {
  type ExtensionLine,
  isMadeAfterRows,
  isSecondStep,
  isTableEntry,
  mayNeedKeys,
  type OrderedLine,
  objectsIn,
  type SequenceLine,
  type TableLine,
  tablesIn,
  typesIn,
} from './lines.ts'
import { completeObject, settleObject } from './objects/objects.ts'
import { createSequence, positionSequence } from './sequences.ts'
import { familiesOf } from './table-families.ts'
import { clusterOn, replicaIdentity, secureRows, tableComments } from './tables.ts'
import { uncheckedChecks } from './types.ts'

/** What structure lines say of a stage. */
export interface StructureLines {
  /** What has to be there before: nothing of a stage's own. */
  readonly extensions: readonly ExtensionLine[]
  readonly sequences: readonly SequenceLine[]
  /** Types, tables, functions, views and all else: each can be made after those before it. */
  readonly inOrder: readonly OrderedLine[]
}

/** What tables that are related by inheritance or partitions, or a table that has no relatives, get when their rows are there. */
export interface FamilyStatements {
  readonly tables: readonly TableLine[]
  /** Keys, and indexes of columns. */
  readonly statements: readonly string[]
  /** Whether nothing that ANALYZE looks at is made later: an index of an expression, or statistics over several columns. */
  readonly isWhole: boolean
}

/** SQL that builds a structure, one statement each, in order. */
export interface CreateStatements {
  /** Sequences, tables without constraints and indexes, and all that these need: what rows can be loaded into. */
  readonly before: readonly string[]
  /** After the rows of some tables each, in any order. */
  readonly families: readonly FamilyStatements[]
  /** After all rows: views, other indexes, and what else may need tables. All that values can name is there then. */
  readonly after: readonly string[]
  /** What acts when rows change or are read. */
  readonly acting: readonly string[]
  /** The materialized views that are then filled, by name. */
  readonly filled: readonly string[]
  /** In the end: what is checked, what acts when rows change, and where the sequences stand. */
  readonly last: readonly string[]
}

/** Holds until the transaction ends: a body may name what is made later. */
export const BODIES_UNCHECKED = 'SET LOCAL check_function_bodies = off'

/**
 * The statements that build a stage in an empty schema, which is the first of the session's `search_path`.
 *
 * Everything is made in the order of its lines: up to the last table, whole, before the rows, the rest after them.
 *
 * Names are quoted. Types, defaults, expressions and definitions are SQL, and run as such. If the lines come from a
 * file, run the statements as the project's own login, one by one, so that an expression can do no more than the
 * project could.
 */
export function createStatements(lines: StructureLines): CreateStatements {
  const { sequences, inOrder } = lines
  const tables = tablesIn(lines)
  const { early, late } = splitAtRows(inOrder)
  const [types, others] = splitBefore(early, isTableEntry)
  const [functions, views] = splitBefore(late, mayNeedKeys)
  const [acting, passive] = [views.filter(isMadeAfterRows), views.filter((line) => !isMadeAfterRows(line))]
  const statements = lineStatements(inOrder, types)
  return {
    before: [
      BODIES_UNCHECKED,
      // First, since the default of a domain may draw from one.
      ...sequences.map(createSequence),
      ...types.flatMap(statements.of),
      ...types.flatMap(statements.completing),
      ...others.flatMap(statements.of),
    ],
    // Before views, since what groups by a key needs it.
    families: familyStatements(lines),
    after: [
      // Functions may need the columns of views that call them.
      ...late.flatMap(statements.firstOf),
      ...functions.flatMap(statements.of),
      ...exclusionStatements(tables),
      ...passive.flatMap(statements.of),
      ...indexStatements(tables),
    ],
    acting: acting.flatMap(statements.of),
    filled: inOrder.flatMap(({ kind, content }) =>
      kind === 'materializedView' && content.populated ? [content.name] : [],
    ),
    last: [
      // A default may name any table as a regclass; a check can call a function that reads a view.
      ...tables.flatMap(setDefaults),
      ...checkStatements(tables),
      ...typesIn(lines).flatMap(uncheckedChecks),
      ...foreignKeyStatements(tables),
      ...objectsIn(lines).flatMap(completeObject),
      ...tables.flatMap(replicaIdentity),
      ...tables.flatMap(clusterOn),
      ...tables.flatMap(secureRows),
      ...tables.flatMap(tableComments),
      ...sequences.flatMap(positionSequence),
      ...tables
        .flatMap(({ columns }) => columns.flatMap(({ identity }) => identity?.sequence ?? []))
        .flatMap(positionSequence),
    ],
  }
}

function familyStatements(lines: StructureLines): readonly FamilyStatements[] {
  const withStatistics = new Set(
    lines.inOrder.flatMap(({ kind, content }) => (kind === 'statistics' ? [content.table] : [])),
  )
  const isWhole = (table: TableLine): boolean => hasPlainIndexes(table) && !withStatistics.has(table.name)
  return familiesOf(tablesIn(lines)).map((tables) => ({
    tables,
    statements: [...keyStatements(tables), ...plainIndexStatements(tables)],
    isWhole: tables.every(isWhole),
  }))
}

/** The statements that build a structure without rows, but for materialized views, which are filled before the last ones. */
export const statementsWithoutRows = ({ before, families, after, acting }: CreateStatements): readonly string[] => [
  ...before,
  ...families.flatMap(({ statements }) => statements),
  ...after,
  ...acting,
]

/** What is left to do when a structure has been built and compared, before the stage gets it. */
export const settleStatements = (lines: StructureLines, stageSchema: string): readonly string[] =>
  objectsIn(lines).flatMap((object) => settleObject(object, stageSchema))

const isOfTable = (line: OrderedLine): boolean =>
  isTableEntry(line) || (isSecondStep(line) && line.content.object === 'table')

interface Split {
  readonly early: readonly OrderedLine[]
  readonly late: readonly OrderedLine[]
}

/**
 * The rows come after the last table, whole, and before what acts when they change. Without tables, after types and
 * functions.
 */
function splitAtRows(inOrder: readonly OrderedLine[]): Split {
  const last = inOrder.findLastIndex(isOfTable)
  const [before, after] =
    last < 0 ? splitBefore(inOrder, mayNeedKeys) : [inOrder.slice(0, last + 1), inOrder.slice(last + 1)]
  return {
    early: before.filter((line) => !isMadeAfterRows(line)),
    late: [...before.filter(isMadeAfterRows), ...after],
  }
}

function splitBefore(
  lines: readonly OrderedLine[],
  isBorder: (line: OrderedLine) => boolean,
): readonly [readonly OrderedLine[], readonly OrderedLine[]] {
  const at = lines.findIndex(isBorder)
  return at < 0 ? [lines, []] : [lines.slice(0, at), lines.slice(at)]
}
