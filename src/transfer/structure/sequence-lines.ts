import type { SequenceLine } from './lines.ts'
import type { ObstacleOf } from './obstacles.ts'
import { withoutNulls } from './query.ts'
import type { SequenceWithValue } from './read-sequences.ts'

/** The line of a sequence that is not a column's identity. It belongs to a column if that is in a line too. */
export function toSequenceLine(row: SequenceWithValue, obstacleOf: ObstacleOf): SequenceLine {
  const { name, type, start, increment, min, max, cache, cycle, value, called } = row
  const { owner_table: table, owner_column: column, owner_table_key: key } = row
  const isOwned =
    table !== null && column !== null && key !== null && row.owner_is_table && obstacleOf(key) === undefined
  return withoutNulls({
    name,
    type,
    start,
    increment,
    min,
    max,
    cache,
    cycle,
    value,
    called,
    ownedBy: isOwned ? { table, column } : null,
    unlogged: row.unlogged || null,
    comment: row.comment,
  })
}
