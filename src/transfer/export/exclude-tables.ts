import type { ObjectKey } from '../structure/dependencies.ts'
import { objectName } from '../structure/objects/objects.ts'
import { withOwnColumns } from '../structure/own-columns.ts'
import type { Query } from '../structure/query.ts'
import type { ObjectStructure, StageStructure, TableStructure } from '../structure/read-structure.ts'

/** What archives may lack that can be excluded as a table. */
const TABLE_KINDS: ReadonlySet<string> = new Set(['table', 'partitioned table', 'foreign table'])

/** The names of a stage's tables, with those that no archive can hold. */
export const tableNames = ({ tables, notExported }: StageStructure): readonly string[] => [
  ...tables.map(({ line }) => line.name),
  ...notExported.filter(({ kind }) => TABLE_KINDS.has(kind)).map(({ name }) => name),
]

/**
 * The tables to exclude, with their partitions.
 *
 * @param query asks within the export's snapshot.
 */
export async function withPartitions(
  query: Query,
  schemaName: string,
  excluded: readonly string[],
): Promise<readonly string[]> {
  if (excluded.length === 0) return excluded
  const rows = await query<{ name: string }>(PARTITIONS_SQL, [schemaName, JSON.stringify(excluded)])
  return rows.map(({ name }) => name)
}

const PARTITIONS_SQL = `
WITH RECURSIVE named AS (
  SELECT c.oid, c.relname
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1::pg_catalog.name AND c.relkind IN ('r', 'p', 'f')
), excluded AS (
  SELECT oid FROM named
   WHERE relname IN (SELECT pg_catalog.jsonb_array_elements_text($2::pg_catalog.jsonb))
   UNION
  SELECT p.oid FROM excluded e
    JOIN pg_catalog.pg_inherits i ON i.inhparent = e.oid
    JOIN pg_catalog.pg_class p ON p.oid = i.inhrelid AND p.relispartition
)
SELECT named.relname::text AS name FROM named JOIN excluded ON excluded.oid = named.oid`

/**
 * A structure without some of its tables, what belongs to them, and what refers to them. A foreign key to a table
 * that is left out could not be built again, nor what a table inherits from one, so they are named among what was not
 * exported. The tables themselves are not: somebody has asked for them to be left out.
 */
export function excludeTables(structure: StageStructure, excluded: readonly string[]): StageStructure {
  if (excluded.length === 0) return structure
  const names = new Set(excluded)
  const isExcluded = (table: string): boolean => names.has(table)
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
  const gone = new Set<ObjectKey>([
    ...structure.tables.filter(({ line }) => isExcluded(line.name)).map(({ oid }): ObjectKey => `pg_class:${oid}`),
    ...structure.afterTables.filter(isLost).map(({ key }) => key),
  ])
  const left = structure.notExported.filter(({ kind, name }) => !(TABLE_KINDS.has(kind) && isExcluded(name)))
  return {
    ...structure,
    extensions: structure.extensions.filter(({ neededBy }) => [...neededBy].some((key) => !gone.has(key))),
    sequences: structure.sequences.filter(({ ownedBy }) => ownedBy === undefined || !isExcluded(ownedBy.table)),
    tables: remaining,
    afterTables: structure.afterTables.filter((object) => !isLost(object)).map(withoutTables(isExcluded)),
    notExported: [...left, ...lostKeys, ...lostParents, ...lostObjects],
  }
}

/** A trigger says when it acts on some partitions: only on those that are there. */
const withoutTables =
  (isExcluded: (table: string) => boolean) =>
  (object: ObjectStructure): ObjectStructure => {
    const { line } = object
    if (line.kind !== 'trigger' || !line.content.partitions) return object
    const partitions = line.content.partitions.filter(({ table }) => !isExcluded(table))
    return { ...object, line: { ...line, content: { ...line.content, partitions } } }
  }

/** Tables that inherit from none that is excluded: their columns, and those of their descendants, become their own. */
function inheritOnlyFrom(tables: readonly TableStructure[], isExcluded: (table: string) => boolean): TableStructure[] {
  if (!tables.some(({ line }) => line.inherits?.some(isExcluded))) return [...tables]
  return tables.map((table) => {
    const inherits = (table.line.inherits ?? []).filter((parent) => !isExcluded(parent))
    return { ...table, line: { ...withOwnColumns(table.line), inherits } }
  })
}
