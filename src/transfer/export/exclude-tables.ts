import { objectName } from '../structure/objects/objects.ts'
import { withOwnColumns } from '../structure/own-columns.ts'
import type { ObjectStructure, StageStructure, TableStructure } from '../structure/read-structure.ts'

/**
 * A structure without some of its tables, what belongs to them, and what refers to them. With a partitioned table go its
 * partitions. A foreign key to a table that is left out could not be built again, nor what a table inherits from one, so
 * they are named among what was not exported.
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
  const lostParents = kept.flatMap(({ line }) =>
    (line.inherits ?? []).filter(isExcluded).map((parent) => ({
      kind: 'inheritance',
      name: line.name,
      detail: `from the excluded table ${parent}, with the checks that it has from there`,
    })),
  )
  const remaining = inheritOnlyFrom(
    kept.map((table) => ({
      ...table,
      line: {
        ...table.line,
        foreignKeys: (table.line.foreignKeys ?? []).filter(({ references }) => !isExcluded(references)),
      },
    })),
    isExcluded,
  )
  return {
    ...structure,
    sequences: structure.sequences.filter(({ ownedBy }) => ownedBy === undefined || !isExcluded(ownedBy.table)),
    tables: remaining,
    afterTables: structure.afterTables.filter((object) => !isLost(object)),
    notExported: [...structure.notExported, ...lostKeys, ...lostParents, ...lostObjects],
  }
}

/** Tables that inherit from none that is excluded: their columns, and those of their descendants, become their own. */
function inheritOnlyFrom(tables: readonly TableStructure[], isExcluded: (table: string) => boolean): TableStructure[] {
  if (!tables.some(({ line }) => line.inherits?.some(isExcluded))) return [...tables]
  return tables.map((table) => {
    const inherits = (table.line.inherits ?? []).filter((parent) => !isExcluded(parent))
    return { ...table, line: { ...withOwnColumns(table.line), inherits } }
  })
}
