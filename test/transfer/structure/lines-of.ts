import type { StructureLines } from '../../../src/transfer/structure/create-statements.ts'
import type { StageStructure } from '../../../src/transfer/structure/read-structure.ts'

/** What an archive says of a stage's structure. */
export const linesOf = ({ types, sequences, tables }: StageStructure): StructureLines => ({
  types,
  sequences,
  tables: tables.map(({ line }) => line),
})
