import type { LineContext } from './line-context.ts'
import type { ColumnLine, IdentityLine } from './lines.ts'
import { withoutNulls } from './query.ts'
import type { ColumnRow } from './read-columns.ts'
import type { SequenceWithValue } from './read-sequences.ts'

/** A column of a table's line. */
export function toColumnLine(
  row: ColumnRow,
  table: string,
  sequence: SequenceWithValue | undefined,
  context: LineContext,
): ColumnLine {
  const { name, type, nullable, storage, compression, statistics, comment } = row
  const place = `${table}.${name}`
  if (row.not_null_unchecked) {
    context.leaveOut({ kind: 'not null constraint', name: place, detail: 'rows that it was not checked against' })
  }
  return withoutNulls({
    name,
    type,
    nullable,
    ...toDefault(row, place, context),
    identity: row.identity && sequence ? toIdentity(row.identity, sequence) : null,
    collation: toCollation(row, place, context),
    storage,
    compression,
    statistics,
    comment,
  })
}

type Default = Pick<ColumnLine, 'default'> | Pick<ColumnLine, 'generated' | 'generatedKind'>

function toDefault(row: ColumnRow, place: string, { obstacleOf, leaveOut }: LineContext): Default {
  const { default_key: key, default: expression, generated_kind: generatedKind } = row
  if (key === null || expression === null) return {}
  const obstacle = obstacleOf(key)
  if (obstacle === undefined) return generatedKind ? { generated: expression, generatedKind } : { default: expression }
  if (generatedKind) {
    leaveOut({ kind: 'generated column', name: place, detail: `becomes a plain column with its values: ${obstacle}` })
  } else {
    leaveOut({ kind: 'default', name: place, detail: obstacle })
  }
  return {}
}

function toIdentity(generation: IdentityLine['generation'], sequence: SequenceWithValue): IdentityLine {
  const { name, start, increment, min, max, cache, cycle, value, called } = sequence
  return { generation, sequence: { name, start, increment, min, max, cache, cycle, value, called } }
}

function toCollation(row: ColumnRow, place: string, { leaveOut }: LineContext): string | null {
  if (row.collation === null || row.collation_built_in) return row.collation
  leaveOut({ kind: 'collation of a column', name: place, detail: `${row.collation} is not PostgreSQL's own` })
  return null
}
