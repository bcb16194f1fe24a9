import type pg from 'pg'
import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import { OBJECT_NAME_TYPE } from './object-names.ts'

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
const COLUMNS = `SELECT attname::text AS name, type.name AS type, type.is_array AS "isArray", attgenerated <> '' AS generated
  FROM pg_catalog.pg_attribute
  CROSS JOIN LATERAL (
    WITH RECURSIVE base (oid, is_array) AS (
      SELECT atttypid, false
       UNION ALL
      SELECT CASE WHEN typtype = 'd' THEN typbasetype ELSE typelem END, is_array OR typtype <> 'd'
        FROM base JOIN pg_catalog.pg_type outer_type ON outer_type.oid = base.oid
       WHERE typtype = 'd' OR typcategory = 'A'
    )
    SELECT typname::text AS name, is_array FROM base JOIN pg_catalog.pg_type found ON found.oid = base.oid
     WHERE typtype <> 'd' AND typcategory <> 'A'
  ) type
  WHERE attrelid = pg_catalog.to_regclass($1) AND attnum > 0 AND NOT attisdropped
  ORDER BY attnum`

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
    return OBJECT_NAME_TYPE.test(type) ? [{ index, isArray }] : []
  })
}
