import { COMPUTED, READABLE, type RelationOf, type Row, type Value } from './quay.ts'

/** What a query asks of one table, without its text. */
export interface Asked {
  readonly table: string
  readonly items: readonly Item[]
  readonly conditions: readonly Condition[]
  readonly order: readonly Order[]
  readonly limit: number | null
  readonly offset: number
}

export type Item =
  | { readonly kind: 'all' }
  | { readonly kind: 'count'; readonly alias: string | null }
  | {
      readonly kind: 'field'
      readonly alias: string | null
      readonly column: string
      readonly path: readonly Step[]
      readonly cast: 'text' | null
      readonly aggregate: 'sum' | 'min' | 'max' | 'count' | null
    }
  | Embedded

export interface Embedded {
  readonly kind: 'embedded'
  readonly relation: RelationOf
  readonly alias: string | null
  readonly inner: boolean
  readonly spread: boolean
  readonly asked: Asked
}

export interface Step {
  readonly key: string | number
  readonly asText: boolean
}

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly negated: boolean; readonly conditions: readonly Condition[] }
  | { readonly kind: 'present'; readonly negated: boolean; readonly name: string }
  | {
      readonly kind: 'filter'
      readonly negated: boolean
      readonly column: string
      readonly path: readonly Step[]
      readonly operator: keyof typeof OPERATIONS
      readonly value: Value
    }

export interface Order {
  /** The name of the embedded relation by whose column it is. */
  readonly relation: string | null
  readonly column: string
  readonly descending: boolean
  readonly nulls: 'first' | 'last' | null
}

type Truth = boolean | null

const comparing =
  (decide: (a: Value, b: Value) => boolean) =>
  (a: Value, b: Value): Truth =>
    a === null || b === null ? null : decide(a, b)

const same = (a: Value, b: Value): boolean => JSON.stringify(a) === JSON.stringify(b)
const isLess = (a: Value, b: Value): boolean => (typeof a === 'string' ? a < String(b) : Number(a) < Number(b))
const listOf = (value: Value): readonly Value[] => (Array.isArray(value) ? value : [])
const matches = (text: Value, pattern: Value, flags: string): boolean =>
  new RegExp(`^${String(pattern).replaceAll('*', '.*')}$`, flags).test(String(text))

/** What operators say of a value and the one that is given, in SQL's logic of three values. */
const OPERATIONS = {
  eq: comparing(same),
  neq: comparing((a, b) => !same(a, b)),
  gt: comparing((a, b) => isLess(b, a)),
  gte: comparing((a, b) => !isLess(a, b)),
  lt: comparing(isLess),
  lte: comparing((a, b) => !isLess(b, a)),
  isdistinct: (a: Value, b: Value): Truth => !same(a, b),
  like: comparing((a, b) => matches(a, b, '')),
  ilike: comparing((a, b) => matches(a, b, 'i')),
  in: (a: Value, b: Value): Truth =>
    listOf(b).length === 0 ? false : a === null ? null : listOf(b).some((each) => same(a, each)),
  is: (a: Value, b: Value): Truth => same(a, b),
  cs: comparing((a, b) => listOf(b).every((each) => listOf(a).includes(each))),
  cd: comparing((a, b) => listOf(a).every((each) => listOf(b).includes(each))),
  ov: comparing((a, b) => listOf(a).some((each) => listOf(b).includes(each))),
} as const

export const OPERATOR_NAMES = Object.keys(OPERATIONS) as readonly (keyof typeof OPERATIONS)[]

/** The rows that a query asks for, as JSON has them: evaluated in memory, by what the dialect says and without any SQL. */
export const evaluate = (asked: Asked): readonly Row[] => answer(asked, READABLE[asked.table] ?? [])

function answer(asked: Asked, rows: readonly Row[]): readonly Row[] {
  const found = ordered(asked, filtered(asked, rows))
  const page = isGrouped(asked) ? grouped(asked, found) : found.map((row) => projected(asked, row))
  return page.slice(asked.offset, asked.limit === null ? undefined : asked.offset + asked.limit)
}

const embeddedOf = ({ items }: Asked): readonly Embedded[] => items.filter((item) => item.kind === 'embedded')

const nameOf = ({ alias, relation }: Embedded): string => alias ?? (relation.written.split('!')[0] as string)

/** The rows of a relation that its own filters leave. */
const related = ({ relation, asked }: Embedded, row: Row): readonly Row[] => filtered(asked, relation.rows(row))

const filtered = (asked: Asked, rows: readonly Row[]): readonly Row[] =>
  rows.filter(
    (row) =>
      asked.conditions.every((condition) => truth(asked, condition, row) === true) &&
      embeddedOf(asked).every((each) => !each.inner || isPresent(each, row)),
  )

function isPresent(embedded: Embedded, row: Row): boolean {
  const { asked, spread } = embedded
  if (!spread && isGrouped(asked) && groupNames(asked).length === 0) return true
  return related(embedded, row).slice(asked.offset, asked.limit === 0 ? 0 : undefined).length > 0
}

function truth(asked: Asked, condition: Condition, row: Row): Truth {
  const plain = (): Truth => {
    if (condition.kind === 'present') {
      const embedded = embeddedOf(asked).find((each) => nameOf(each) === condition.name)
      return embedded ? !isPresent(embedded, row) : null
    }
    if (condition.kind === 'filter') {
      const isNull = condition.operator === 'is' && condition.value === null && condition.path.length === 0
      const embedded = isNull && embeddedOf(asked).find((each) => nameOf(each) === condition.column)
      if (embedded) return !isPresent(embedded, row)
      return OPERATIONS[condition.operator](
        valueIn(asked.table, row, condition.column, condition.path),
        condition.value,
      )
    }
    const all = condition.conditions.map((each) => truth(asked, each, row))
    const decisive = condition.kind === 'or'
    return all.includes(decisive) ? decisive : all.includes(null) ? null : !decisive
  }
  const found = plain()
  return found === null || !condition.negated ? found : !found
}

function valueIn(table: string, row: Row, column: string, path: readonly Step[]): Value {
  const start = COMPUTED[table]?.[column]?.(row) ?? row[column] ?? null
  return path.reduce<Value>((value, { key, asText }) => {
    const next = typeof key === 'number' ? (listOf(value)[key] ?? null) : isObject(value) ? (value[key] ?? null) : null
    return asText && next !== null ? (typeof next === 'string' ? next : textOf(next)) : next
  }, start)
}

const isObject = (value: Value): value is { readonly [key: string]: Value } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** As PostgreSQL writes `jsonb`. */
function textOf(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([key, of]) => `"${key}": ${textOf(of)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}

function ordered(asked: Asked, rows: readonly Row[]): readonly Row[] {
  const by = ({ relation, column }: Order, row: Row): Value => {
    if (relation === null) return valueIn(asked.table, row, column, [])
    const embedded = embeddedOf(asked).find((each) => nameOf(each) === relation)
    const [one] = embedded ? related(embedded, row) : []
    return embedded && one ? valueIn(embedded.asked.table, one, column, []) : null
  }
  return rows.toSorted((left, right) => {
    for (const term of asked.order) {
      const [a, b] = [by(term, left), by(term, right)]
      if (same(a, b)) continue
      if (a === null || b === null)
        return (a === null) === ((term.nulls ?? (term.descending ? 'first' : 'last')) === 'first') ? -1 : 1
      return isLess(a, b) === term.descending ? 1 : -1
    }
    return 0
  })
}

/** A column of an answer: its value in a row, and what it is made into where rows are grouped. */
interface Column {
  readonly name: string
  readonly value: Value
  readonly aggregate: 'sum' | 'min' | 'max' | 'count' | null
}

/** What is shown of a row, the later of two columns of one name; none of a row that is not there. */
function columnsOf(asked: Asked, row: Row | undefined): ReadonlyMap<string, Column> {
  const columns = asked.items.flatMap((item): readonly Column[] => {
    if (item.kind === 'all') {
      return Object.keys(READABLE[asked.table]?.[0] ?? {}).map((name) => ({
        name,
        value: row?.[name] ?? null,
        aggregate: null,
      }))
    }
    if (item.kind === 'count') return [{ name: item.alias ?? 'count', value: row ? true : null, aggregate: 'count' }]
    if (item.kind === 'embedded') return embeddedColumns(item, row)
    const value = row ? valueIn(asked.table, row, item.column, item.path) : null
    const name =
      item.alias ?? item.aggregate ?? item.path.findLast(({ key }) => typeof key === 'string')?.key ?? item.column
    return [
      { name: String(name), value: item.cast && value !== null ? String(value) : value, aggregate: item.aggregate },
    ]
  })
  return new Map(columns.map((column) => [column.name, column]))
}

function embeddedColumns(embedded: Embedded, row: Row | undefined): readonly Column[] {
  const { asked, relation, spread } = embedded
  if (!showsAnything(asked)) return []
  const rows = row ? relation.rows(row) : []
  const column = (name: string, value: Value): Column => ({ name, value, aggregate: null })
  if (!spread)
    return [
      column(
        nameOf(embedded),
        row === undefined ? null : relation.toOne ? (answer(asked, rows)[0] ?? null) : answer(asked, rows),
      ),
    ]
  if (relation.toOne) return [...columnsOf(asked, filtered(asked, rows)[0]).values()]
  const found = answer(asked, rows)
  return [...columnsOf(asked, undefined).keys()].map((name) =>
    column(name, row ? found.map((each) => each[name] ?? null) : null),
  )
}

export const showsAnything = ({ items }: Asked): boolean =>
  items.some((item) => item.kind !== 'embedded' || showsAnything(item.asked))

const projected = (asked: Asked, row: Row): Row =>
  Object.fromEntries([...columnsOf(asked, row)].map(([name, { value }]) => [name, value]))

/** Whether there is an aggregate here, or in a single row that is spread into this one. */
export const isGrouped = ({ items }: Asked): boolean =>
  items.some(
    (item) =>
      item.kind === 'count' ||
      (item.kind === 'field' && item.aggregate !== null) ||
      (item.kind === 'embedded' && item.spread && isGrouped(item.asked)),
  )

const groupNames = (asked: Asked): readonly string[] =>
  [...columnsOf(asked, undefined).values()].filter(({ aggregate }) => aggregate === null).map(({ name }) => name)

function grouped(asked: Asked, rows: readonly Row[]): readonly Row[] {
  const groups = new Map<string, ReadonlyMap<string, Column>[]>()
  for (const row of rows) {
    const columns = columnsOf(asked, row)
    const key = JSON.stringify([...columns.values()].map(({ value, aggregate }) => (aggregate ? null : value)))
    groups.set(key, [...(groups.get(key) ?? []), columns])
  }
  if (groups.size === 0 && groupNames(asked).length === 0) groups.set('', [])
  const names = [...columnsOf(asked, undefined).values()]
  return [...groups.values()].map((group) =>
    Object.fromEntries(
      names.map(({ name, aggregate }) => {
        const values = group.map((columns) => columns.get(name)?.value ?? null)
        return [name, aggregate ? aggregated(aggregate, values) : (values[0] ?? null)]
      }),
    ),
  )
}

function aggregated(how: NonNullable<Column['aggregate']>, values: readonly Value[]): Value {
  const found = values.filter((value) => value !== null)
  if (how === 'count') return found.length
  if (found.length === 0) return null
  if (how === 'sum') return found.reduce<number>((sum, value) => sum + Number(value), 0)
  return Math[how](...found.map(Number))
}
