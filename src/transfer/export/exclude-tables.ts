import { isObjectLine, type NotExported, type OrderedLine } from '../structure/lines.ts'
import { objectName } from '../structure/objects/objects.ts'
import { withOwnColumns } from '../structure/own-columns.ts'
import type { Query } from '../structure/query.ts'
import { type OrderedStructure, type StageStructure, tablesOf } from '../structure/read-structure.ts'

/** What archives may lack that can be excluded as a table. */
const TABLE_KINDS: ReadonlySet<string> = new Set(['table', 'partitioned table', 'foreign table'])

/** The names of a stage's tables, with those that no archive can hold. */
export const tableNames = (structure: StageStructure): readonly string[] => [
  ...tablesOf(structure).map(({ line }) => line.name),
  ...structure.notExported.filter(({ kind }) => TABLE_KINDS.has(kind)).map(({ name }) => name),
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
  const isLost = ({ tables }: OrderedStructure): boolean => tables().some(isExcluded)
  const lost = structure.inOrder.filter(isLost)
  const gone = new Set([...names, ...lost.flatMap(({ line }) => (line.kind === 'table' ? [line.content.name] : []))])
  const isGone = (table: string): boolean => gone.has(table)
  const kept = structure.inOrder.filter((each) => !isLost(each))
  const tables = kept.flatMap(({ line }) => (line.kind === 'table' ? [line.content] : []))
  const lostKeys = tables.flatMap(({ name: table, foreignKeys = [] }) =>
    foreignKeys
      .filter(({ references }) => isGone(references))
      .map(({ name, references }) => ({
        kind: 'foreign key',
        name: `${table}.${name}`,
        detail: `refers to the excluded table ${references}`,
      })),
  )
  const lostParents = tables.flatMap(({ name, inherits = [] }) =>
    inherits.filter(isGone).map((parent) => ({
      kind: 'inheritance',
      name,
      detail: `from the excluded table ${parent}, with the checks that it has from there`,
    })),
  )
  const isOrphaned = tables.some(({ inherits = [] }) => inherits.some(isGone))
  const goneKeys = new Set(lost.map(({ key }) => key))
  const left = structure.notExported.filter(({ kind, name }) => !(TABLE_KINDS.has(kind) && isExcluded(name)))
  return {
    ...structure,
    extensions: structure.extensions.filter(({ neededBy }) => [...neededBy].some((key) => !goneKeys.has(key))),
    sequences: structure.sequences.filter(({ ownedBy }) => ownedBy === undefined || !isGone(ownedBy.table)),
    inOrder: kept.map(({ line, ...each }) => ({ ...each, line: withoutTables(line, isGone, isOrphaned) })),
    notExported: [...left, ...lostKeys, ...lostParents, ...lost.flatMap((each) => nameLost(each, isExcluded))],
  }
}

/** Says what goes with an excluded table; but not the table itself, nor what is of it. */
function nameLost({ line, tables }: OrderedStructure, isExcluded: (table: string) => boolean): NotExported[] {
  const detail = `needs the excluded table ${tables().find(isExcluded)}`
  if (line.kind === 'secondStep' || ('table' in line.content && isExcluded(line.content.table))) return []
  if (isObjectLine(line)) return [{ kind: line.kind, name: objectName(line), detail }]
  const { name } = line.content
  if (line.kind !== 'table') return [{ kind: line.kind, name, detail }]
  return isExcluded(name) ? [] : [{ kind: 'table', name, detail: `${detail}; its rows are not exported either` }]
}

/** A line that says nothing of some tables. @param isOrphaned whether one of the tables inherits from one of those. */
function withoutTables(line: OrderedLine, isGone: (table: string) => boolean, isOrphaned: boolean): OrderedLine {
  // A trigger says when it acts on some partitions: only on those that are there.
  if (line.kind === 'trigger' && line.content.partitions) {
    const partitions = line.content.partitions.filter(({ table }) => !isGone(table))
    return { ...line, content: { ...line.content, partitions } }
  }
  if (line.kind !== 'table') return line
  const foreignKeys = (line.content.foreignKeys ?? []).filter(({ references }) => !isGone(references))
  const content = { ...line.content, foreignKeys }
  if (!isOrphaned) return { ...line, content }
  // Its columns, and those of all descendants, become their own.
  const inherits = (content.inherits ?? []).filter((parent) => !isGone(parent))
  return { ...line, content: { ...withOwnColumns(content), inherits } }
}
