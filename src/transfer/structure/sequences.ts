import { catalogOid } from '../../database/catalog-oids.ts'
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../database/quoting.ts'
import { sinceVersion } from './by-version.ts'
import { commentOn } from './clauses.ts'
import type { ObjectKey } from './dependencies.ts'
import { describable, type LineContext } from './line-context.ts'
import { type Facts, type IdentityLine, type SequenceLine, yesOrNo } from './lines.ts'
import { jsonObject, type Query } from './query.ts'

export interface SequenceRow {
  readonly key: ObjectKey
  readonly name: string
  /** False where a built-in relation of the same name hides it. */
  readonly visible: boolean
  readonly line: SequenceLine
  /** The column that it belongs to, as `OWNED BY` says or because it is the column's identity. */
  readonly owner: {
    readonly key: ObjectKey
    readonly column: number
    readonly isIdentity: boolean
    /** Whether the table is. */
    readonly unlogged: boolean
  } | null
}

/** Reads the schema's sequences, those behind identity columns too, and where each stands. */
export async function readSequences(query: Query, schema: string, schemaOid: string): Promise<SequenceRow[]> {
  const sequences = await query<SequenceRow>(SEQUENCES_SQL, [schemaOid])
  if (sequences.length === 0) return []
  const selects = sequences.map(
    ({ key, name }) =>
      `SELECT '${key}' AS key, last_value::text AS value, is_called AS called FROM ${quoteQualified(schema, name)}`,
  )
  const rows = await query<{ key: ObjectKey; value: string; called: boolean }>(selects.join(' UNION ALL '), [])
  const positions = new Map(rows.map(({ key, ...position }) => [key, position]))
  return sequences.flatMap((row) => {
    const position = positions.get(row.key)
    return position ? [{ ...row, line: { ...row.line, ...position } }] : []
  })
}

/** The lines of the sequences that are no column's identity. One belongs to a column if that is in a line too. */
export function toSequenceLines(sequences: readonly SequenceRow[], context: LineContext): SequenceLine[] {
  const standalone = sequences.filter(({ owner }) => !owner?.isIdentity)
  return describable(context, 'sequence', standalone).map(({ line: { ownedBy, ...others }, line, owner }) =>
    owner && context.blockerOf(owner.key) !== undefined ? others : line,
  )
}

/** The sequence of an identity column, whose type and owner are the column's. */
export function toIdentitySequence({ line, owner }: SequenceRow): IdentityLine['sequence'] {
  const { type, ownedBy, unlogged = false, ...sequence } = line
  return unlogged === owner?.unlogged ? sequence : { ...sequence, unlogged }
}

/** The statement that makes a sequence; its owner and its position are set later. */
export function createSequence(sequence: SequenceLine): string {
  const { name, type, unlogged } = sequence
  const rest = `SEQUENCE ${quoteIdentifier(name)} AS ${type} ${sequenceOptions(sequence)}`
  return unlogged ? sinceVersion(15, `CREATE UNLOGGED ${rest}`, `CREATE ${rest}`) : `CREATE ${rest}`
}

/** As `CREATE SEQUENCE` and `GENERATED ... AS IDENTITY` take them. */
export function sequenceOptions({ start, increment, min, max, cache, cycle }: IdentityLine['sequence']): string {
  const limits = `MINVALUE ${min} MAXVALUE ${max} START WITH ${start}`
  return `INCREMENT BY ${increment} ${limits} CACHE ${cache} ${cycle ? 'CYCLE' : 'NO CYCLE'}`
}

/** Sets a sequence's position, its owner and its comment. */
export function positionSequence(sequence: SequenceLine | IdentityLine['sequence']): string[] {
  const name = quoteIdentifier(sequence.name)
  const { ownedBy } = { ownedBy: undefined, ...sequence }
  const unlogged = 'type' in sequence ? undefined : sequence.unlogged
  return [
    // setval() is not undone by a rollback, but the sequence is: it is new in this transaction.
    `SELECT pg_catalog.setval(${quoteLiteral(name)}, ${sequence.value}, ${sequence.called})`,
    // Before PostgreSQL 15, every sequence is logged.
    ...(unlogged === undefined
      ? []
      : [sinceVersion(15, `ALTER SEQUENCE ${name} SET ${unlogged ? 'UNLOGGED' : 'LOGGED'}`, '')]),
    ...(ownedBy ? [`ALTER SEQUENCE ${name} OWNED BY ${quoteQualified(ownedBy.table, ownedBy.column)}`] : []),
    ...commentOn(`SEQUENCE ${name}`, sequence.comment),
  ]
}

/** What decides about which rows fit. */
export const sequenceFacts = ({ type, increment, min, max, cycle }: SequenceLine): Facts => ({
  type,
  increment,
  minimum: min,
  maximum: max,
  cycle: yesOrNo(cycle),
})

const LINE_SQL = jsonObject({
  name: 'c.relname',
  type: 'pg_catalog.format_type(s.seqtypid, NULL)',
  start: 's.seqstart::text',
  increment: 's.seqincrement::text',
  min: 's.seqmin::text',
  max: 's.seqmax::text',
  cache: 's.seqcache::text',
  cycle: 's.seqcycle',
  // Read from the sequence itself.
  value: `''`,
  called: 'false',
  ownedBy: `CASE WHEN owner.relkind IN ('r', 'p') THEN ${jsonObject({ table: 'owner.relname', column: 'a.attname' })} END`,
  unlogged: `CASE c.relpersistence WHEN 'u' THEN true END`,
  comment: `pg_catalog.obj_description(c.oid, 'pg_class')`,
})

const SEQUENCES_SQL = `
SELECT 'pg_class:' || c.oid::text AS key, c.relname::text AS name, pg_catalog.pg_table_is_visible(c.oid) AS visible,
       ${LINE_SQL} AS line,
       CASE WHEN owner.oid IS NOT NULL THEN ${jsonObject({
         key: `'pg_class:' || owner.oid::text`,
         column: 'd.refobjsubid',
         isIdentity: `d.deptype = 'i'`,
         unlogged: `owner.relpersistence = 'u'`,
       })} END AS owner
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
  LEFT JOIN pg_catalog.pg_depend d
    ON d.classid = ${catalogOid('pg_class')} AND d.objid = c.oid
   AND d.refclassid = ${catalogOid('pg_class')} AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
  LEFT JOIN pg_catalog.pg_class owner ON owner.oid = d.refobjid
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
 WHERE c.relnamespace = $1::pg_catalog.oid
 ORDER BY c.relname`
