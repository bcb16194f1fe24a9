import { PG_CATALOG_OID } from '../../database/catalog-oids.ts'
import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { collate, commentOn, storageParameters } from './clauses.ts'
import type { ObjectKey } from './dependencies.ts'
import type { LineContext } from './line-context.ts'
import { type ColumnLine, type Facts, type IdentityLine, present, type TableLine, yesOrNo } from './lines.ts'
import { NOT_NULL_SQL, notNullClause } from './not-nulls.ts'
import { jsonObject, type Query } from './query.ts'
import { type SequenceRow, sequenceOptions, toIdentitySequence } from './sequences.ts'
import type { ValueType } from './value-expressions.ts'

export interface ColumnRow {
  readonly table_oid: string
  readonly number: number
  readonly name: string
  /** Of an identity column, without its sequence. */
  readonly line: ColumnLine
  readonly value_type: ValueType
  readonly default_key: ObjectKey | null
  /** The collation, where it is not PostgreSQL's own. */
  readonly collation_key: ObjectKey | null
  /** Whether that is in another schema. */
  readonly collation_elsewhere: boolean
}

/** Reads the columns of the schema's tables, in their order. */
export const readColumns = (query: Query, schemaOid: string): Promise<ColumnRow[]> =>
  query<ColumnRow>(COLUMNS_SQL, [schemaOid])

/** A column of a table's line, without what cannot be described. @param sequence of an identity. */
export function toColumnLine(
  row: ColumnRow,
  table: string,
  sequence: SequenceRow | undefined,
  { blockerOf, leaveOut }: LineContext,
): ColumnLine {
  const { default: expression, generated, generatedKind, identity, collation, ...others } = row.line
  const name = `${table}.${row.name}`
  const blocker = row.default_key === null ? undefined : blockerOf(row.default_key)
  if (blocker !== undefined && generated !== undefined) {
    leaveOut({ kind: 'generated column', name, detail: `becomes a plain column with its values: ${blocker}` })
  } else if (blocker !== undefined) {
    leaveOut({ kind: 'default', name, detail: blocker })
  }
  const collationBlocker = blockerOfCollation(row, blockerOf)
  if (collationBlocker !== undefined) {
    leaveOut({ kind: 'collation of a column', name, detail: `${collation}: ${collationBlocker}` })
  }
  return {
    ...others,
    ...(blocker === undefined && expression !== undefined && { default: expression }),
    ...(blocker === undefined && generated !== undefined && { generated, ...(generatedKind && { generatedKind }) }),
    ...(identity && sequence && { identity: { ...identity, sequence: toIdentitySequence(sequence) } }),
    ...(collation !== undefined && collationBlocker === undefined && { collation }),
  }
}

function blockerOfCollation(
  { collation_key: key, collation_elsewhere }: ColumnRow,
  blockerOf: LineContext['blockerOf'],
): string | undefined {
  if (key === null) return undefined
  return collation_elsewhere ? 'it is in another schema' : blockerOf(key)
}

/** As `CREATE TABLE` takes it: its type, NOT NULL, identity and expression. */
export function columnDefinition(column: ColumnLine): string {
  const { name, type, generated, generatedKind = 'stored', identity } = column
  return [
    `${quoteIdentifier(name)} ${type}${collate(column)}`,
    notNullClause(column),
    generated === undefined ? '' : ` GENERATED ALWAYS AS (${generated}) ${generatedKind.toUpperCase()}`,
    identity ? ` ${identityDefinition(identity)}` : '',
  ].join('')
}

function identityDefinition({ generation, sequence }: IdentityLine): string {
  const options = `SEQUENCE NAME ${quoteIdentifier(sequence.name)} ${sequenceOptions(sequence)}`
  return `GENERATED ${generation.toUpperCase()} AS IDENTITY (${options})`
}

/** What `CREATE TABLE` does not take in every version: one `ALTER TABLE`, or none. */
export const completeColumns = (table: Changed<StoredColumn>): string[] =>
  changeColumns(table, ({ storage, compression, statistics, options = [] }) => [
    ...setTo('STORAGE', storage),
    ...setTo('COMPRESSION', compression),
    ...setTo('STATISTICS', statistics),
    ...(options.length === 0 ? [] : [`SET (${storageParameters(options)})`]),
  ])

/** The defaults of a table's columns: one `ALTER TABLE`, or none. Rows that are loaded have a value in every column. */
export const setDefaults = (table: Changed<ColumnLine>): string[] =>
  changeColumns(table, ({ default: expression }) => setTo('DEFAULT', expression))

const setTo = (setting: string, value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [`SET ${setting} ${value}`]

/** A table, or a materialized view. */
interface Changed<Column> {
  readonly name: string
  readonly columns: readonly Column[]
}

type StoredColumn = Pick<ColumnLine, 'name' | 'storage' | 'compression' | 'statistics' | 'options'>

function changeColumns<Column extends { readonly name: string }>(
  { name, columns }: Changed<Column>,
  changesOf: (column: Column) => readonly string[],
): string[] {
  const changes = columns.flatMap((column) =>
    changesOf(column).map((change) => `ALTER COLUMN ${quoteIdentifier(column.name)} ${change}`),
  )
  return changes.length === 0 ? [] : [`ALTER TABLE ONLY ${quoteIdentifier(name)} ${changes.join(', ')}`]
}

export const columnComments = ({ name: table, columns }: TableLine): string[] =>
  columns.flatMap(({ name, comment }) => commentOn(`COLUMN ${quoteQualified(table, name)}`, comment))

/** What decides about which rows fit. */
export const columnFacts = (column: ColumnLine): Facts =>
  present({
    type: column.type,
    nullable: yesOrNo(column.nullable),
    default: column.default,
    'generation expression': column.generated,
    identity: column.identity?.generation,
    collation: column.collation,
  })

/** How the values of a column `a` of a type `t` are kept. The statistics target is -1 by default up to PostgreSQL 16, and NULL from 17. */
export const COLUMN_STORAGE = {
  storage: `CASE WHEN a.attstorage <> t.typstorage THEN
         CASE a.attstorage WHEN 'p' THEN 'plain' WHEN 'e' THEN 'external' WHEN 'm' THEN 'main' ELSE 'extended' END
       END`,
  compression: `CASE a.attcompression WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' END`,
  statistics: 'NULLIF(a.attstattarget, -1)',
  options: 'a.attoptions',
}

const LINE_SQL = jsonObject({
  name: 'a.attname',
  type: 'pg_catalog.format_type(a.atttypid, a.atttypmod)',
  nullable: 'NOT a.attnotnull OR NOT COALESCE(not_null.convalidated, true)',
  notNull: `NULLIF(${NOT_NULL_SQL}::pg_catalog.text, '{}')::pg_catalog.json`,
  default: `CASE a.attgenerated WHEN '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END`,
  generated: `CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END`,
  generatedKind: `CASE a.attgenerated WHEN 's' THEN 'stored' WHEN 'v' THEN 'virtual' END`,
  identity: `CASE WHEN a.attidentity <> '' THEN pg_catalog.json_build_object(
               'generation', CASE a.attidentity WHEN 'a' THEN 'always' ELSE 'by default' END) END`,
  collation: 'pg_catalog.quote_ident(l.collname::text)',
  ...COLUMN_STORAGE,
  // Those of a partition are all its partitioned table's.
  inherited: 'CASE WHEN NOT (a.attislocal OR c.relispartition) THEN true END',
  comment: 'pg_catalog.col_description(a.attrelid, a.attnum)',
})

const COLUMNS_SQL = `
SELECT a.attrelid::text AS table_oid, a.attnum::int4 AS number, a.attname::text AS name,
       ${LINE_SQL} AS line,
       pg_catalog.json_build_object(
         'name', base.typname, 'isArray', base.typcategory = 'A', 'isBuiltIn', base.oid < '16384'
       ) AS value_type,
       'pg_attrdef:' || d.oid::text AS default_key,
       CASE WHEN l.collnamespace <> ${PG_CATALOG_OID} THEN 'pg_collation:' || l.oid::text END AS collation_key,
       COALESCE(l.collnamespace NOT IN (${PG_CATALOG_OID}, c.relnamespace), false)
         AS collation_elsewhere
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_type base ON base.oid = CASE WHEN t.typtype <> 'd' THEN t.oid ELSE (
    WITH RECURSIVE chain AS (
      SELECT t.typtype, t.typbasetype
      UNION ALL
      SELECT b.typtype, b.typbasetype
        FROM chain JOIN pg_catalog.pg_type b ON b.oid = chain.typbasetype
       WHERE chain.typtype = 'd'
    )
    SELECT b.oid FROM chain JOIN pg_catalog.pg_type b ON b.oid = chain.typbasetype
     WHERE chain.typtype = 'd' AND b.typtype <> 'd'
  ) END
  LEFT JOIN pg_catalog.pg_constraint not_null
    ON not_null.conrelid = a.attrelid AND not_null.contype = 'n' AND not_null.conkey[1] = a.attnum
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND a.attcollation <> t.typcollation
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attrelid, a.attnum`
