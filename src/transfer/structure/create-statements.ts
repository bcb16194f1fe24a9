import { setDefaults } from './columns.ts'
import { checkStatements, foreignKeyStatements, indexStatements, keyStatements } from './constraints.ts'
import {
  type ExtensionLine,
  isMadeAfterTables,
  isObjectLine,
  isTypeLine,
  type ObjectLine,
  type SequenceLine,
  type TableLine,
  type TypeLine,
} from './lines.ts'
import { completeObject, createFirst, createObject, settleObject } from './objects/objects.ts'
import { createSequence, positionSequence } from './sequences.ts'
import {
  attachPartition,
  clusterOn,
  completeTables,
  createTables,
  replicaIdentity,
  secureRows,
  tableComments,
} from './tables.ts'
import { completeType, createType, uncheckedChecks } from './types.ts'

/** What structure lines say of a stage. */
export interface StructureLines {
  /** What has to be there before: nothing of a stage's own. */
  readonly extensions: readonly ExtensionLine[]
  /** Types, and functions that need no table: each can be made after those before it. */
  readonly beforeTables: readonly (TypeLine | ObjectLine)[]
  readonly sequences: readonly SequenceLine[]
  readonly tables: readonly TableLine[]
  /** Views and what else may need tables: each can be made after those before it. */
  readonly afterTables: readonly ObjectLine[]
}

/** SQL that builds a structure, one statement each, in order. */
export interface CreateStatements {
  /** Types, functions, sequences, and tables without constraints and indexes: what rows can be loaded into. */
  readonly before: readonly string[]
  /** After the rows: keys, indexes, views, and what else may need tables. */
  readonly after: readonly string[]
  /** The materialized views that are then filled, by name. */
  readonly filled: readonly string[]
  /** In the end: what is checked, what acts when rows change, and where the sequences stand. */
  readonly last: readonly string[]
}

/**
 * The statements that build a stage in an empty schema, which is the first of the session's `search_path`.
 *
 * Names are quoted. Types, defaults, expressions and definitions are SQL, and run as such. If the lines come from a
 * file, run the statements as the project's own login, one by one, so that an expression can do no more than the
 * project could.
 */
export function createStatements({ beforeTables, sequences, tables, afterTables }: StructureLines): CreateStatements {
  const [functions, others] = splitAtView(afterTables)
  return {
    before: [
      // A body may name what is made later.
      'SET LOCAL check_function_bodies = off',
      // First, since the default of a domain may draw from one.
      ...sequences.map(createSequence),
      ...beforeTables.flatMap((line) => (isObjectLine(line) ? createObject(line) : createType(line))),
      ...beforeTables.filter(isTypeLine).flatMap(completeType),
      ...createTables(tables),
      ...completeTables(tables),
      ...tables.flatMap(attachPartition),
    ],
    after: [
      // Functions may need the columns of views that call them.
      ...afterTables.flatMap(createFirst),
      // A key can be over one of these, and a view needs the key that it groups by.
      ...functions.flatMap(createObject),
      ...keyStatements(tables),
      ...others.flatMap(createObject),
      ...indexStatements(tables),
    ],
    filled: others.flatMap(({ kind, content }) =>
      kind === 'materializedView' && content.populated ? [content.name] : [],
    ),
    last: [
      // A default may name any table as a regclass; a check can call a function that reads a view.
      ...tables.flatMap(setDefaults),
      ...checkStatements(tables),
      ...beforeTables.filter(isTypeLine).flatMap(uncheckedChecks),
      ...foreignKeyStatements(tables),
      ...afterTables.flatMap(completeObject),
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

/** What is left to do when a structure has been built and compared, before the stage gets it. */
export const settleStatements = (
  { beforeTables, afterTables }: StructureLines,
  stageSchema: string,
): readonly string[] =>
  [...beforeTables.filter(isObjectLine), ...afterTables].flatMap((object) => settleObject(object, stageSchema))

/** What comes before the first view or the like: functions that need nothing but tables; and everything else. */
function splitAtView(afterTables: readonly ObjectLine[]): readonly [readonly ObjectLine[], readonly ObjectLine[]] {
  const at = afterTables.findIndex(({ kind }) => isMadeAfterTables(kind))
  return at < 0 ? [afterTables, []] : [afterTables.slice(0, at), afterTables.slice(at)]
}
