import { LIMITS } from './limits.ts'
import { type Field, parsePath } from './parse-field.ts'
import type { Reader } from './reader.ts'

export const AGGREGATES = ['count', 'sum', 'avg', 'min', 'max'] as const
export type Aggregate = (typeof AGGREGATES)[number]

interface Cast {
  readonly type: string
  readonly position: number
}

export interface SelectedField {
  readonly kind: 'field'
  readonly alias: string | null
  readonly field: Field
  readonly cast: Cast | null
  readonly aggregate: { readonly name: Aggregate; readonly cast: Cast | null } | null
}

/** `count()`: how many rows. */
export interface SelectedCount {
  readonly kind: 'count'
  readonly alias: string | null
  readonly cast: Cast | null
}

export interface SelectedRelation {
  readonly kind: 'relation'
  readonly alias: string | null
  readonly name: string
  /** What distinguishes it from others between the same tables. */
  readonly hint: string | null
  /** `!inner`: rows without a related one are left out. */
  readonly inner: boolean
  /** `...`: its columns become those of the row around it. */
  readonly spread: boolean
  readonly items: readonly SelectItem[]
  readonly position: number
}

export type SelectItem = { readonly kind: 'all' } | SelectedField | SelectedCount | SelectedRelation

/**
 * Reads `select`: `title,year:data->>year,price::text,artist!inner(name),...label(country)`. Parentheses that close what nothing
 * has opened, and apostrophes, are passed over at the end, as PostgREST does.
 */
export function parseSelect(reader: Reader): readonly SelectItem[] {
  const items = parseItems(reader, { selected: 0, embeddings: 0 }, 0)
  reader.match(/[\s)']*/y)
  reader.expectEnd('"," or ')
  return items
}

interface Tally {
  selected: number
  embeddings: number
}

function parseItems(reader: Reader, tally: Tally, depth: number): readonly SelectItem[] {
  const items: SelectItem[] = []
  do {
    if (++tally.selected > LIMITS.selected) throw reader.refused(`more than ${LIMITS.selected} things are selected`)
    items.push(parseItem(reader, tally, depth))
    reader.skipSpace()
  } while (reader.take(','))
  return items
}

function parseItem(reader: Reader, tally: Tally, depth: number): SelectItem {
  reader.skipSpace()
  if (reader.take('*')) return { kind: 'all' }
  const spread = reader.take('...')
  let { position } = reader
  let name = reader.name(spread ? 'a relation' : 'a column, a relation or "*"')
  let alias: string | null = null
  if (!spread && reader.startsWith(':') && !reader.startsWith('::')) {
    assertAlias(reader, name, position)
    alias = name
    reader.expect(':')
    reader.skipSpace()
    position = reader.position
    name = reader.name('a column or a relation')
  }
  if (!spread && name === 'count' && reader.take('()')) return { kind: 'count', alias, cast: parseCast(reader) }
  if (spread || reader.startsWith('!') || reader.startsWith('(')) {
    return parseRelation(reader, tally, depth, { alias, name, spread, position })
  }
  return parseSelectedField(reader, alias, parsePath(reader, name, position))
}

function parseRelation(
  reader: Reader,
  tally: Tally,
  depth: number,
  start: Pick<SelectedRelation, 'alias' | 'name' | 'spread' | 'position'>,
): SelectedRelation {
  if (depth === LIMITS.embeddingDepth) {
    throw reader.refused(`relations are at most ${LIMITS.embeddingDepth} deep`, start.position)
  }
  if (++tally.embeddings > LIMITS.embeddings) {
    throw reader.refused(`more than ${LIMITS.embeddings} relations are embedded`, start.position)
  }
  let hint: string | null = null
  let join: 'inner' | 'left' | null = null
  while (reader.take('!')) {
    const at = reader.position
    const word = reader.name('"inner", "left" or a hint')
    if (join === null && (word === 'inner' || word === 'left')) join = word
    else if (hint === null) hint = word
    else throw reader.malformed('"("', at - 1)
  }
  reader.expect('(')
  reader.skipSpace()
  const items = reader.startsWith(')') ? [] : parseItems(reader, tally, depth + 1)
  if (!reader.take(')')) throw reader.malformed('"," or ")"')
  return { kind: 'relation', ...start, hint, inner: join === 'inner', items }
}

function parseSelectedField(reader: Reader, alias: string | null, field: Field): SelectedField {
  const cast = parseCast(reader)
  if (!reader.take('.')) return { kind: 'field', alias, field, cast, aggregate: null }
  const found = reader.match(/([a-z]+)\(\)/y)
  const name = AGGREGATES.find((known) => known === found?.[1])
  if (name === undefined) throw reader.malformed(`one of ${AGGREGATES.map((each) => `"${each}()"`).join(', ')}`)
  return { kind: 'field', alias, field, cast, aggregate: { name, cast: parseCast(reader) } }
}

function parseCast(reader: Reader): Cast | null {
  if (!reader.take('::')) return null
  reader.skipSpace()
  const { position } = reader
  if (reader.startsWith('"')) return { type: reader.name('a type'), position }
  const found = reader.match(/[\p{L}_][\p{L}\p{N}_ $]*(\[\])?/uy)
  if (!found) throw reader.malformed('a type')
  return { type: found[0].trim(), position }
}

const ALIAS = /^\P{C}+$/u
/** PostgreSQL cuts longer names off. */
const MAX_ALIAS_BYTES = 63

/** What a column is called in the answer is the only text of a request that a statement repeats, hence the care. */
export function assertAlias(reader: Reader, alias: string, position: number): void {
  if (!ALIAS.test(alias)) {
    throw reader.refused('a name in the answer has no control characters; choose one, as in "name:column"', position)
  }
  if (Buffer.byteLength(alias) > MAX_ALIAS_BYTES) {
    throw reader.refused(`a name in the answer has at most ${MAX_ALIAS_BYTES} bytes`, position)
  }
}
