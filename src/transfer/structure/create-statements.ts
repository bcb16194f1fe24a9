import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { constraintStatements } from './create-constraints.ts'
import { createSequence, positionSequence } from './create-sequences.ts'
import { createTable, describeColumns } from './create-tables.ts'
import { createType, describeType } from './create-types.ts'
import type { SequenceLine, TableLine, TypeLine } from './lines.ts'

/** What structure lines say of a stage. */
export interface StructureLines {
  readonly types: readonly TypeLine[]
  readonly sequences: readonly SequenceLine[]
  readonly tables: readonly TableLine[]
}

/** SQL that builds a structure, one statement each, in order. */
export interface CreateStatements {
  /** Types, sequences, and tables without constraints and indexes: what rows can be loaded into. */
  readonly before: readonly string[]
  /** Keys, indexes, checks, foreign keys, comments, and where the sequences stand: after the rows. */
  readonly after: readonly string[]
}

/**
 * The statements that build a stage in an empty schema, which is the session's whole `search_path`.
 *
 * Names are quoted. Types, defaults, expressions and definitions are SQL, and run as such. If the lines come from a
 * file, run the statements as the project's own login, one by one, so that an expression can do no more than the
 * project could.
 */
export function createStatements({ types, sequences, tables }: StructureLines): CreateStatements {
  return {
    before: [
      // First, since the default of a domain may draw from one.
      ...sequences.map(createSequence),
      ...types.map(createType),
      ...types.flatMap(describeType),
      ...tables.map(createTable),
      // After all tables, since a default may name any of them as a regclass.
      ...tables.flatMap(describeColumns),
    ],
    after: [
      ...constraintStatements(tables),
      ...tables.flatMap(tableComments),
      ...sequences.flatMap(positionSequence),
      ...tables
        .flatMap(({ columns }) => columns.flatMap(({ identity }) => identity?.sequence ?? []))
        .flatMap(positionSequence),
    ],
  }
}

function tableComments({ name, comment, columns }: TableLine): string[] {
  const table = quoteIdentifier(name)
  const ofTable = comment === undefined ? [] : [`COMMENT ON TABLE ${table} IS ${quoteLiteral(comment)}`]
  const ofColumns = columns.flatMap((column) => {
    if (column.comment === undefined) return []
    return [`COMMENT ON COLUMN ${table}.${quoteIdentifier(column.name)} IS ${quoteLiteral(column.comment)}`]
  })
  return [...ofTable, ...ofColumns]
}
