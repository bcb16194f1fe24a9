import type pg from 'pg'
import { innerTypes, isObjectNameType } from '../../database/object-name-types.ts'
import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'

/** A table, as a statement names it. */
export interface TableName {
  /** Undefined for the first in the search path. */
  readonly schema: string | undefined
  readonly name: string
}

/** A column whose values are names of objects, as `regclass` has them. */
export interface NameColumn {
  /** Counted from 0, among those that a row has. */
  readonly index: number
  readonly isArray: boolean
}

/** `$1`: the table. The types below domains, also below those that are elements of arrays. */
const COLUMNS = `
WITH RECURSIVE ${innerTypes('c.oid = pg_catalog.to_regclass($1)')}
SELECT a.attname::text AS name, t.typname::text AS type, inner_type.is_array AS "isArray", a.attgenerated <> '' AS generated
  FROM inner_type JOIN pg_catalog.pg_attribute a ON a.attrelid = inner_type.relation AND a.attnum = inner_type.number
  JOIN pg_catalog.pg_type t ON t.oid = inner_type.oid
 WHERE t.typtype <> 'd' AND t.typcategory <> 'A'
 ORDER BY a.attnum`

interface ColumnRow {
  readonly name: string
  readonly type: string
  readonly isArray: boolean
  readonly generated: boolean
}

/**
 * The columns that rows have, in their order: some by name, all, or all but those that are generated. Without names, INSERT
 * has a DEFAULT for a generated column, and COPY nothing.
 */
export type RowColumns = readonly string[] | 'all' | 'all but generated'

export async function readNameColumns(
  client: pg.PoolClient,
  { schema, name }: TableName,
  columns: RowColumns,
): Promise<readonly NameColumn[]> {
  const table = schema === undefined ? quoteIdentifier(name) : quoteQualified(schema, name)
  const { rows } = await client.query<ColumnRow>(COLUMNS, [table])
  const columnOf = new Map(rows.map((column) => [column.name, column]))
  const inRows = rows.filter(({ generated }) => columns === 'all' || !generated).map((column) => column.name)
  return (typeof columns === 'string' ? inRows : columns).flatMap((column, index) => {
    const { type = '', isArray = false } = columnOf.get(column) ?? {}
    return isObjectNameType(type) ? [{ index, isArray }] : []
  })
}
