import { objectName } from '../structure/objects/objects.ts'
import type { ObjectStructure, StageStructure, TableStructure } from '../structure/read-structure.ts'

/**
 * A structure without some of its tables, what belongs to them, and what refers to them. With a partitioned table go its
 * partitions. A foreign key to a table that is left out could not be built again, so it is named among what was not
 * exported.
 */
export function excludeTables(structure: StageStructure, excluded: readonly string[]): StageStructure {
  const without = new Set(excluded)
  // A partition comes after the table that it is of.
  for (const { line } of structure.tables) if (without.has(line.partitionOf?.table ?? '')) without.add(line.name)
  const isExcluded = (table: string): boolean => without.has(table)
  if (!structure.tables.some(({ line }) => isExcluded(line.name))) return structure

  const kept = structure.tables.filter(({ line }) => !isExcluded(line.name))
  const lostKeys = kept.flatMap(({ line }) =>
    (line.foreignKeys ?? [])
      .filter(({ references }) => isExcluded(references))
      .map(({ name, references }) => ({
        kind: 'foreign key',
        name: `${line.name}.${name}`,
        detail: `refers to the excluded table ${references}`,
      })),
  )
  const isLost = ({ tables }: ObjectStructure): boolean => tables.some(isExcluded)
  const lostObjects = structure.afterTables
    .filter(isLost)
    // What is of a table goes with it.
    .filter(({ line: { content } }) => !('table' in content && isExcluded(content.table)))
    .map(({ line, tables }) => ({
      kind: line.kind,
      name: objectName(line),
      detail: `needs the excluded table ${tables.find(isExcluded)}`,
    }))
  const withoutLostKeys = (table: TableStructure): TableStructure => ({
    ...table,
    line: {
      ...table.line,
      foreignKeys: (table.line.foreignKeys ?? []).filter(({ references }) => !isExcluded(references)),
    },
  })
  return {
    ...structure,
    sequences: structure.sequences.filter(({ ownedBy }) => ownedBy === undefined || !isExcluded(ownedBy.table)),
    tables: kept.map(withoutLostKeys),
    afterTables: structure.afterTables.filter((object) => !isLost(object)),
    notExported: [...structure.notExported, ...lostKeys, ...lostObjects],
  }
}
