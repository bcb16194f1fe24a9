import { archiveFault } from '../../archive/archive-invalid.ts'
import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { commentOn, storageParameters } from './clauses.ts'
import type { ObjectKey } from './dependencies.ts'
import { describable, type LineContext } from './line-context.ts'
import type { DefinitionLine, Facts, IndexLine, TableLine } from './lines.ts'
import { uncheckedNotNulls, validatedNotNulls } from './not-nulls.ts'
import { jsonObject, type Query } from './query.ts'

/** The kinds of constraint and index, by the lists of a table's line. */
const KINDS = {
  primaryKey: 'primary key',
  unique: 'unique',
  checks: 'check',
  foreignKeys: 'foreign key',
  exclusions: 'exclusion',
  indexes: 'index',
} as const

type Kind = (typeof KINDS)[keyof typeof KINDS]

/** A constraint, or an index that is not behind one. */
export interface ConstraintRow {
  readonly key: ObjectKey
  readonly table_oid: string
  readonly kind: Kind
  readonly name: string
  readonly line: DefinitionLine
  readonly references_table: string | null
  /** The key or index of the partitioned table that this one of a partition is a part of. */
  readonly part_of: { readonly key: ObjectKey; readonly name: string } | null
  /** Storage parameters of a key's index, which `pg_get_constraintdef` leaves out. */
  readonly index_options: string[]
  /** The comment on a key's index. */
  readonly index_comment: string | null
  readonly valid: boolean
  readonly replica_identity: boolean
  /** Whether it is the index by which the table was clustered last. */
  readonly clustered: boolean
}

/**
 * Reads the constraints of the schema's tables, and the indexes that are not behind one; but not the copies that PostgreSQL
 * makes by itself, for each partition, of foreign keys and checks of its partitioned table.
 */
export async function readConstraints(query: Query, schemaOid: string): Promise<ConstraintRow[]> {
  const read = [CONSTRAINTS_SQL, INDEXES_SQL].map((sql) => query<ConstraintRow>(sql, [schemaOid]))
  return (await Promise.all(read)).flat()
}

type DefinitionLists = Pick<TableLine, keyof typeof KINDS>

/** The lists of a table's line, but for empty ones. */
export function toDefinitionLists(
  rows: readonly ConstraintRow[],
  table: string,
  context: LineContext,
): DefinitionLists {
  const of = (kind: Kind): ConstraintRow[] =>
    describable(
      context,
      kind,
      rows.filter((row) => row.kind === kind),
      table,
    )
  const toIndexed = (row: ConstraintRow): IndexLine => {
    const isPart = row.part_of !== null && context.blockerOf(row.part_of.key) === undefined
    return {
      ...toKey(row),
      ...(isPart && { partitionOf: row.part_of.name }),
      ...(row.index_comment !== null && { indexComment: row.index_comment }),
    }
  }
  const [primaryKey] = of('primary key')
  const lists = {
    unique: of('unique').map(toIndexed),
    checks: of('check').map(({ line }) => line),
    foreignKeys: of('foreign key').map(({ line, references_table }) => ({
      ...line,
      references: references_table ?? '',
    })),
    exclusions: of('exclusion').map(toIndexed),
    indexes: of('index').map(toIndexed),
  }
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0)
  return { ...(primaryKey && { primaryKey: toIndexed(primaryKey) }), ...Object.fromEntries(filled) }
}

function toKey({ line, index_options }: ConstraintRow): DefinitionLine {
  if (index_options.length === 0) return line
  const options = ` WITH (${storageParameters(index_options)})`
  const definition = line.definition.replace(/( DEFERRABLE)?( INITIALLY DEFERRED)?$/, (timing) => `${options}${timing}`)
  return { ...line, definition }
}

/** Each constraint and index of a table, by what it is called for people. */
export function definitionFacts(table: TableLine): readonly (readonly [string, Facts])[] {
  const lists = Object.entries(KINDS) as [keyof typeof KINDS, Kind][]
  return lists.flatMap(([list, kind]) => {
    const noun = kind === 'unique' || kind === 'exclusion' ? `${kind} constraint` : kind
    return [table[list] ?? []].flat().map(({ name, definition }) => [`${noun} "${name}"`, { definition }] as const)
  })
}

/**
 * Primary keys and unique constraints of tables, with comments.
 *
 * Those of a partitioned table are made without those of its partitions, which have names and comments of their own, and
 * are made parts of it afterwards. Checks and foreign keys pass to partitions by themselves; exclusion constraints do, too,
 * since PostgreSQL makes none a part of another.
 */
export const keyStatements = (tables: readonly TableLine[]): string[] =>
  tables.flatMap((table) => [
    ...addConstraints(table, table.primaryKey ? [table.primaryKey] : [], 'ONLY '),
    ...addConstraints(table, table.unique, 'ONLY '),
  ])

/** Exclusion constraints once functions are there, since one can be over what they give. */
export const exclusionStatements = (tables: readonly TableLine[]): string[] => tables.flatMap(addExclusions)

/** Indexes of columns, without expressions and conditions: all that these need is there before the rows. */
export const plainIndexStatements = (tables: readonly TableLine[]): string[] =>
  tables.flatMap((table) => createIndexes(table, isPlain))

/**
 * All other indexes once views are there, since one can be over a function that reads a view; keys and indexes of
 * partitions become parts then.
 */
export const indexStatements = (tables: readonly TableLine[]): string[] => [
  ...tables.flatMap((table) => createIndexes(table, (index) => !isPlain(index))),
  ...tables.flatMap(attachIndexes),
]

/** Whether all indexes of a table are of columns alone. */
export const hasPlainIndexes = ({ indexes = [], exclusions = [] }: TableLine): boolean =>
  exclusions.length === 0 && indexes.every(isPlain)

/** What PostgreSQL prints of one: its columns have operator classes and an order, but nothing of theirs has brackets. */
const PLAIN_INDEX = / USING \w+ \([^()]*\)(?: INCLUDE \([^()]*\))?(?: NULLS NOT DISTINCT)?(?: WITH \([^()]*\))?$/

function isPlain({ definition }: DefinitionLine): boolean {
  // Names may have anything in them.
  const withoutNames = definition.replaceAll(/"[^"]*"/g, 'name')
  return PLAIN_INDEX.test(withoutNames) && !withoutNames.includes(' COLLATE ')
}

export const checkStatements = (tables: readonly TableLine[]): string[] => [
  ...tables.flatMap((table) => [...addConstraints(table, table.checks), ...uncheckedNotNulls(table)]),
  ...validatedNotNulls(tables),
]

/** Once all keys are there. */
export const foreignKeyStatements = (tables: readonly TableLine[]): string[] =>
  tables.flatMap((table) => addConstraints(table, table.foreignKeys))

/** Constraints of one table, with their comments. @param only `ONLY `: not of its partitions. */
export function addConstraints(
  table: TableLine,
  constraints: readonly (DefinitionLine & Pick<IndexLine, 'indexComment'>)[] = [],
  only: '' | 'ONLY ' = '',
): string[] {
  const tableName = quoteIdentifier(table.name)
  return constraints.flatMap(({ name, definition, comment, indexComment }) => [
    `ALTER TABLE ${only}${tableName} ADD CONSTRAINT ${quoteIdentifier(name)} ${definition}`,
    ...commentOn(`CONSTRAINT ${quoteIdentifier(name)} ON ${tableName}`, comment),
    ...commentOn(`INDEX ${quoteIdentifier(name)}`, indexComment),
  ])
}

function addExclusions(table: TableLine): string[] {
  return (table.exclusions ?? []).flatMap((exclusion) => {
    const { name, comment, partitionOf, indexComment } = exclusion
    if (partitionOf === undefined) return addConstraints(table, [exclusion])
    const constraint = `CONSTRAINT ${quoteIdentifier(name)} ON ${quoteIdentifier(table.name)}`
    return [
      renameCopy(table.name, partitionOf, name),
      ...commentOn(constraint, comment),
      ...commentOn(`INDEX ${quoteIdentifier(name)}`, indexComment),
    ]
  })
}

/** Gives a constraint that a partition has from its partitioned table the name that it should have. */
function renameCopy(table: string, original: string, name: string): string {
  const body = `
    DECLARE
      copy name;
    BEGIN
      SELECT k.conname INTO copy
        FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_constraint p ON p.oid = k.conparentid
       WHERE k.conrelid = ${quoteLiteral(quoteIdentifier(table))}::pg_catalog.regclass::pg_catalog.oid AND p.conname = ${quoteLiteral(original)};
      IF copy <> ${quoteLiteral(name)} THEN
        EXECUTE pg_catalog.format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', ${quoteLiteral(table)}, copy, ${quoteLiteral(name)});
      END IF;
    END`
  return `DO LANGUAGE plpgsql ${quoteLiteral(body)}`
}

/** Makes keys and indexes of a partition parts of the partitioned table's. */
const attachIndexes = ({ primaryKey, unique = [], indexes = [] }: TableLine): string[] =>
  [...(primaryKey ? [primaryKey] : []), ...unique, ...indexes].flatMap(({ name, partitionOf }) =>
    partitionOf === undefined
      ? []
      : [`ALTER INDEX ${quoteIdentifier(partitionOf)} ATTACH PARTITION ${quoteIdentifier(name)}`],
  )

/**
 * The one kind of definition that is a whole statement.
 *
 * @throws {AppError} ARCHIVE_INVALID where it is another statement than that which makes this index on this table.
 */
function createIndexes(
  { name: table, indexes = [], partitionBy }: TableLine,
  isWanted: (index: IndexLine) => boolean,
): string[] {
  const only = partitionBy === undefined ? '' : 'ONLY '
  return indexes
    .filter(isWanted)
    .flatMap(({ name, definition, comment }) => [
      assertIndex(definition, name, table, only),
      ...commentOn(`INDEX ${quoteIdentifier(name)}`, comment),
    ])
}

function assertIndex(definition: string, name: string, table: string, only: '' | 'ONLY '): string {
  const [, head = ''] = /^CREATE (?:UNIQUE )?INDEX (.*)$/s.exec(definition) ?? []
  const isThisOne = spellings(name).some((index) =>
    spellings(table).some((on) => head.startsWith(`${index} ON ${only}${on} USING `)),
  )
  if (isThisOne) return definition
  throw archiveFault(`the definition of index "${name}" is not one of this index on table "${table}"`)
}

/** A name as PostgreSQL prints it: quoted where it has to be. */
const spellings = (name: string): readonly string[] =>
  /^[a-z_][a-z0-9_$]*$/.test(name) ? [name, quoteIdentifier(name)] : [quoteIdentifier(name)]

const CONSTRAINT_SQL = jsonObject({
  name: 'k.conname',
  definition: 'pg_catalog.pg_get_constraintdef(k.oid)',
  comment: `pg_catalog.obj_description(k.oid, 'pg_constraint')`,
})

/** The index of the partitioned table that an index is a part of, and the constraint that it is behind, if any. */
const PART_OF_SQL = `CASE WHEN part_of.oid IS NOT NULL THEN ${jsonObject({
  key: `COALESCE('pg_constraint:' || part_of_key.oid::text, 'pg_class:' || part_of.oid::text)`,
  name: 'part_of.relname',
})} END`

// By the table, too: PostgreSQL has no index of constraints by theirs, and would read all of them for each.
const partOfJoins = (index: string): string => `
  LEFT JOIN pg_catalog.pg_inherits part ON part.inhrelid = ${index}
  LEFT JOIN pg_catalog.pg_class part_of ON part_of.oid = part.inhparent
  LEFT JOIN pg_catalog.pg_index part_of_index ON part_of_index.indexrelid = part_of.oid
  LEFT JOIN pg_catalog.pg_constraint part_of_key
    ON part_of_key.conrelid = part_of_index.indrelid AND part_of_key.conindid = part_of.oid
   AND part_of_key.contype IN ('p', 'u', 'x')`

const CONSTRAINTS_SQL = `
SELECT 'pg_constraint:' || k.oid::text AS key, k.conrelid::text AS table_oid,
       CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'c' THEN 'check'
                      WHEN 'f' THEN 'foreign key' ELSE 'exclusion' END AS kind,
       k.conname::text AS name, ${CONSTRAINT_SQL} AS line,
       target.relname::text AS references_table,
       ${PART_OF_SQL} AS part_of,
       COALESCE(own_index.reloptions, '{}') AS index_options,
       pg_catalog.obj_description(i.indexrelid, 'pg_class') AS index_comment,
       true AS valid, COALESCE(i.indisreplident, false) AS replica_identity,
       COALESCE(i.indisclustered, false) AS clustered
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  LEFT JOIN pg_catalog.pg_class target ON target.oid = k.confrelid
  LEFT JOIN pg_catalog.pg_class own_index ON own_index.oid = k.conindid AND k.contype IN ('p', 'u')
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = k.conindid AND k.contype IN ('p', 'u', 'x')
  ${partOfJoins('i.indexrelid')}
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind IN ('r', 'p') AND k.contype IN ('p', 'u', 'c', 'f', 'x')
   AND (k.contype <> 'f' OR k.conparentid = '0') AND (k.contype <> 'c' OR k.conislocal)
 ORDER BY k.conrelid, k.conname`

const INDEX_SQL = jsonObject({
  name: 'x.relname',
  definition: 'pg_catalog.pg_get_indexdef(x.oid, 0, true)',
  comment: `pg_catalog.obj_description(x.oid, 'pg_class')`,
})

const INDEXES_SQL = `
SELECT 'pg_class:' || x.oid::text AS key, i.indrelid::text AS table_oid, 'index' AS kind,
       x.relname::text AS name, ${INDEX_SQL} AS line,
       NULL AS references_table,
       ${PART_OF_SQL} AS part_of,
       '{}'::text[] AS index_options,
       NULL AS index_comment,
       -- That of a partitioned table is valid once all partitions have theirs, which is as it may be.
       i.indisready AND (i.indisvalid OR x.relkind = 'I') AS valid, i.indisreplident AS replica_identity, i.indisclustered AS clustered
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
  ${partOfJoins('x.oid')}
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind IN ('r', 'p')
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k
                    WHERE k.conrelid = i.indrelid AND k.conindid = x.oid AND k.contype IN ('p', 'u', 'x'))
 ORDER BY i.indrelid, x.relname`
