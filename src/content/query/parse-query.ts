import { invalidRequest, RangeNotSatisfiable } from '../../errors.ts'
import { LIMITS } from './limits.ts'
import { parsePath } from './parse-field.ts'
import { type Condition, parseFilter, parseLogic } from './parse-filter.ts'
import { type OrderTerm, parseOrder } from './parse-order.ts'
import { parseSelect, type SelectItem } from './parse-select.ts'
import type { QueryParameters } from './plans.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import { parameterSource, Reader } from './reader.ts'

/** What the parameters say about one table: the one asked for, or one embedded in it. */
export interface TablePart {
  /** The relations from the table asked for to this one; empty for itself. */
  readonly path: readonly string[]
  /** For error messages: where the path stands. */
  readonly reader: Reader
  readonly content:
    | { readonly kind: 'condition'; readonly condition: Condition }
    | { readonly kind: 'order'; readonly terms: readonly OrderTerm[] }
    | { readonly kind: 'limit' | 'offset'; readonly rows: number }
}

/** Names in a list, and where they stand. */
export interface NameList {
  readonly names: readonly { readonly name: string; readonly position: number }[]
  readonly reader: Reader
}

export interface ParsedQuery {
  readonly select: { readonly items: readonly SelectItem[]; readonly reader: Reader } | null
  readonly columns: NameList | null
  readonly onConflict: NameList | null
  readonly parts: readonly TablePart[]
}

/**
 * Takes a query apart, without knowing any table.
 *
 * @throws {AppError} INVALID_REQUEST: malformed, or beyond a limit.
 */
export function parseQuery(query: QueryParameters): ParsedQuery {
  const length = query.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (length > LIMITS.queryCharacters) {
    throw invalidRequest(`the query has ${length} characters; at most ${LIMITS.queryCharacters} are allowed`)
  }
  const seen = new Set<string>()
  const once = (name: string): void => {
    if (seen.has(name)) throw invalidRequest(`${parameterSource(name)} comes more than once`)
    seen.add(name)
  }
  let select: ParsedQuery['select'] = null
  const lists: { columns: NameList | null; on_conflict: NameList | null } = { columns: null, on_conflict: null }
  const parts: TablePart[] = []
  for (const [name, value] of query) {
    if (name === 'select') {
      once(name)
      const reader = new Reader(parameterSource(name), value)
      select = value.trim() === '' ? null : { items: parseSelect(reader), reader }
    } else if (name === 'columns' || name === 'on_conflict') {
      once(name)
      lists[name] = parseNames(new Reader(parameterSource(name), value))
    } else {
      const part = parsePart(name, value)
      if (part.content.kind !== 'condition') once(name)
      parts.push(part)
    }
  }
  assertFewFilters(parts)
  return { select, columns: lists.columns, onConflict: lists.on_conflict, parts }
}

function parseNames(reader: Reader): NameList {
  const names: { name: string; position: number }[] = []
  do {
    const { position } = reader
    names.push({ name: reader.name('a column'), position })
  } while (reader.take(','))
  reader.expectEnd('"," or ')
  return { names, reader }
}

const WORDS = /(?:(not\.)?(and|or)|order|limit|offset)$/y

/** A parameter that is named for what it is about: `year`, `artist.name`, `artist.data->>a`, `or`, `artist.limit`. */
function parsePart(name: string, value: string): TablePart {
  const key = new Reader(`the name of ${parameterSource(name)}`, name)
  const reader = new Reader(parameterSource(name), value)
  const path: string[] = []
  const isNegated = /^not\..+\.(and|or)$/.test(name) && key.take('not.')
  for (;;) {
    const word = key.match(WORDS)
    if (word?.[2]) {
      const condition = parseLogic(word[2] === 'and' ? 'and' : 'or', isNegated || word[1] !== undefined, reader)
      return { path, reader: key, content: { kind: 'condition', condition } }
    }
    if (word?.[0] === 'order') return { path, reader: key, content: { kind: 'order', terms: parseOrder(reader) } }
    if (word) {
      const kind = word[0] === 'limit' ? 'limit' : 'offset'
      return { path, reader: key, content: { kind, rows: parseRows(reader, kind) } }
    }
    const { position } = key
    const step = key.name('a column or a relation')
    if (key.take('.')) {
      if (path.length === LIMITS.embeddingDepth) throw key.refused('there are not so many relations in each other')
      path.push(step)
      continue
    }
    const field = parsePath(key, step, position)
    key.expectEnd('"." or ')
    return { path, reader: key, content: { kind: 'condition', condition: parseFilter(field, key, reader) } }
  }
}

/** An offset before the first row is that of the first row, as in PostgREST. */
function parseRows(reader: Reader, kind: 'limit' | 'offset'): number {
  const { position } = reader
  const rows = reader.match(/-?\d{1,15}$/y)
  if (!rows) throw reader.malformed('a whole number, zero or more', position)
  const number = Number(rows[0])
  if (number < 0 && kind === 'limit') {
    const postgrest = POSTGREST_SAYS.rangeBeyondEnd('Limit should be greater than or equal to zero.')
    throw new RangeNotSatisfiable(`${reader.source} is below zero`, '*/*', { postgrest })
  }
  return Math.max(0, number)
}

function assertFewFilters(parts: readonly TablePart[]): void {
  const count = (condition: Condition): number =>
    condition.kind === 'filter' ? 1 : condition.conditions.reduce((sum, inner) => sum + count(inner), 0)
  const filters = parts.reduce(
    (sum, { content }) => sum + (content.kind === 'condition' ? count(content.condition) : 0),
    0,
  )
  if (filters > LIMITS.filters)
    throw invalidRequest(`the query has ${filters} filters; at most ${LIMITS.filters} are allowed`)
}
