import { type Field, parseField, parsePath } from './parse-field.ts'
import type { Reader } from './reader.ts'

export interface OrderTerm {
  /** The embedded relation by one of whose columns it is; null for the table's own. */
  readonly relation: string | null
  readonly field: Field
  /** `DESC`, `NULLS LAST`, ... as SQL. */
  readonly direction: 'ASC' | 'DESC'
  readonly nulls: 'FIRST' | 'LAST' | null
  readonly reader: Reader
}

/** Reads `order`: `year.desc.nullslast,artist(name)`. */
export function parseOrder(reader: Reader): readonly OrderTerm[] {
  const terms: OrderTerm[] = []
  do terms.push(parseTerm(reader))
  while (reader.take(','))
  reader.expectEnd('"," or ')
  return terms
}

function parseTerm(reader: Reader): OrderTerm {
  reader.skipSpace()
  const { position } = reader
  const name = reader.name('a column')
  let relation: string | null = null
  let field: Field
  if (reader.take('(')) {
    relation = name
    field = parseField(reader)
    reader.expect(')')
  } else {
    field = parsePath(reader, name, position)
  }
  let direction: OrderTerm['direction'] | null = null
  let nulls: OrderTerm['nulls'] = null
  while (reader.take('.')) {
    const at = reader.position
    const word = reader.match(/[a-z]+/y)?.[0]
    if (direction === null && nulls === null && (word === 'asc' || word === 'desc')) {
      direction = word === 'asc' ? 'ASC' : 'DESC'
    } else if (nulls === null && (word === 'nullsfirst' || word === 'nullslast')) {
      nulls = word === 'nullsfirst' ? 'FIRST' : 'LAST'
    } else throw reader.malformed('"asc", "desc", "nullsfirst" or "nullslast"', at)
  }
  reader.skipSpace()
  return { relation, field, direction: direction ?? 'ASC', nulls, reader }
}
