import { quoteQualified } from '../../database/quoting.ts'
import type { ObjectKey } from './dependencies.ts'
import type { SequenceLine } from './lines.ts'
import type { Query } from './query.ts'

export interface SequenceRow {
  readonly oid: string
  readonly key: ObjectKey
  readonly name: string
  readonly visible: boolean
  readonly type: SequenceLine['type']
  readonly start: string
  readonly increment: string
  readonly min: string
  readonly max: string
  readonly cache: string
  readonly cycle: boolean
  readonly unlogged: boolean
  readonly comment: string | null
  /** The column that it belongs to, as `OWNED BY` says or because it is the column's identity. */
  readonly owner_table_key: ObjectKey | null
  readonly owner_table: string | null
  readonly owner_column: string | null
  readonly owner_column_number: number | null
  readonly owner_is_table: boolean
  readonly of_identity: boolean
}

export interface SequenceValue {
  readonly value: string
  readonly called: boolean
}

export type SequenceWithValue = SequenceRow & SequenceValue

/** Reads the schema's sequences, those behind identity columns too, and where each stands. */
export async function readSequences(query: Query, schema: string, schemaOid: string): Promise<SequenceWithValue[]> {
  const sequences = await query<SequenceRow>(SEQUENCES_SQL, [schemaOid])
  const values = await readValues(query, schema, sequences)
  return sequences.flatMap((sequence) => {
    const value = values.get(sequence.oid)
    return value ? [{ ...sequence, value: value.value, called: value.called }] : []
  })
}

async function readValues(
  query: Query,
  schema: string,
  sequences: readonly SequenceRow[],
): Promise<Map<string, SequenceValue>> {
  if (sequences.length === 0) return new Map()
  const selects = sequences.map(
    ({ oid, name }) =>
      `SELECT '${oid}' AS oid, last_value::text AS value, is_called AS called FROM ${quoteQualified(schema, name)}`,
  )
  const rows = await query<SequenceValue & { oid: string }>(selects.join(' UNION ALL '), [])
  return new Map(rows.map((row) => [row.oid, row]))
}

const SEQUENCES_SQL = `
SELECT c.oid::text AS oid, 'pg_class:' || c.oid AS key, c.relname::text AS name,
       pg_catalog.pg_table_is_visible(c.oid) AS visible,
       pg_catalog.format_type(s.seqtypid, NULL) AS type,
       s.seqstart::text AS start, s.seqincrement::text AS increment, s.seqmin::text AS min, s.seqmax::text AS max,
       s.seqcache::text AS cache, s.seqcycle AS cycle,
       c.relpersistence = 'u' AS unlogged,
       pg_catalog.obj_description(c.oid, 'pg_class') AS comment,
       'pg_class:' || owner.oid AS owner_table_key,
       owner.relname::text AS owner_table, a.attname::text AS owner_column, d.refobjsubid AS owner_column_number,
       COALESCE(owner.relkind = 'r', false) AS owner_is_table,
       COALESCE(d.deptype = 'i', false) AS of_identity
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
  LEFT JOIN pg_catalog.pg_depend d
    ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
   AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
  LEFT JOIN pg_catalog.pg_class owner ON owner.oid = d.refobjid
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
 WHERE c.relnamespace = $1::pg_catalog.oid
 ORDER BY c.relname`
