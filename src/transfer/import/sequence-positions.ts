import type { StructureLines } from '../structure/create-statements.ts'
import { isTableEntry, type TableLine, tablesIn } from '../structure/lines.ts'

/**
 * A structure whose sequences go on where those of the archive stood. Those of identity columns go by their columns:
 * a sequence keeps its name when its table is renamed.
 */
export function withPositions(structure: StructureLines, archive: StructureLines): StructureLines {
  const positions = new Map<string, Position>(
    archive.sequences.map((sequence) => [sequence.name, positionOf(sequence)]),
  )
  const identities = new Map<string, Position>(
    tablesIn(archive).flatMap(({ name, columns }) =>
      columns.flatMap((column) =>
        column.identity ? [[columnKey(name, column.name), positionOf(column.identity.sequence)] as const] : [],
      ),
    ),
  )
  return {
    ...structure,
    sequences: structure.sequences.map((sequence) => ({ ...sequence, ...positions.get(sequence.name) })),
    inOrder: structure.inOrder.map((line) =>
      isTableEntry(line) ? { ...line, content: withIdentities(line.content, identities) } : line,
    ),
  }
}

const withIdentities = (table: TableLine, positions: ReadonlyMap<string, Position>): TableLine => ({
  ...table,
  columns: table.columns.map((column) => {
    if (!column.identity) return column
    const position = positions.get(columnKey(table.name, column.name))
    return { ...column, identity: { ...column.identity, sequence: { ...column.identity.sequence, ...position } } }
  }),
})

interface Position {
  readonly value: string
  readonly called: boolean
}

const positionOf = ({ value, called }: Position): Position => ({ value, called })

const columnKey = (table: string, column: string): string => JSON.stringify([table, column])
