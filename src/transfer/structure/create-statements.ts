import { completeColumns } from './columns.ts'
import { constraintStatements } from './constraints.ts'
import type { SequenceLine, TableLine, TypeLine } from './lines.ts'
import { createSequence, positionSequence } from './sequences.ts'
import { attachPartition, createTable, replicaIdentity, tableComments } from './tables.ts'
import { completeType, createType } from './types.ts'

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
      ...types.flatMap(completeType),
      ...tables.map(createTable),
      // After all tables, since a default may name any of them as a regclass.
      ...tables.flatMap(completeColumns),
      ...tables.flatMap(attachPartition),
    ],
    after: [
      ...constraintStatements(tables),
      ...tables.flatMap(replicaIdentity),
      ...tables.flatMap(tableComments),
      ...sequences.flatMap(positionSequence),
      ...tables
        .flatMap(({ columns }) => columns.flatMap(({ identity }) => identity?.sequence ?? []))
        .flatMap(positionSequence),
    ],
  }
}
