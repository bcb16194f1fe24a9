import fc from 'fast-check'
import type { Asked, Condition, Embedded, Item, Order, Step } from './asked-rows.ts'
import { isGrouped, type OPERATOR_NAMES, showsAnything } from './asked-rows.ts'
import { QUAY, READABLE, RELATIONS, type Value } from './quay.ts'

type Kind = 'number' | 'text' | 'truth' | 'list' | 'json'
type Operator = (typeof OPERATOR_NAMES)[number]

const COLUMNS: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  port: { id: 'number', name: 'text', country: 'text', depth: 'number', open: 'truth', tags: 'list', data: 'json' },
  ship: {
    id: 'number',
    name: 'text',
    home_id: 'number',
    last_id: 'number',
    tons: 'number',
    data: 'json',
    shout: 'text',
  },
  crew: { id: 'number', name: 'text', ship_id: 'number', boss_id: 'number', rank: 'number' },
  log: { ship_id: 'number', pages: 'number' },
  cargo: { id: 'number', name: 'text', tons: 'number' },
  loaded: { ship_id: 'number', cargo_id: 'number' },
  big_ship: { id: 'number', name: 'text', home_id: 'number', tons: 'number' },
}

/** By which the rows of each table have one order. */
const keyOf = (table: string): readonly string[] =>
  table === 'loaded' ? ['ship_id', 'cargo_id'] : table === 'log' ? ['ship_id'] : ['id']

const OPERATORS: Readonly<Record<Kind, readonly Operator[]>> = {
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'isdistinct', 'in', 'is'],
  text: ['eq', 'neq', 'gt', 'lt', 'isdistinct', 'like', 'ilike', 'in', 'is'],
  truth: ['is', 'eq', 'isdistinct'],
  list: ['cs', 'cd', 'ov', 'eq', 'is'],
  json: ['eq', 'neq', 'is', 'isdistinct'],
}

const PATHS: readonly { readonly path: readonly Step[]; readonly kind: Kind }[] = [
  { path: [{ key: 'kind', asText: true }], kind: 'text' },
  { path: [{ key: 'lanes', asText: false }], kind: 'json' },
  { path: [{ key: 'a', asText: false }], kind: 'json' },
  {
    path: [
      { key: 'b', asText: false },
      { key: 'c', asText: true },
    ],
    kind: 'text',
  },
  {
    path: [
      { key: 'list', asText: false },
      { key: 1, asText: false },
    ],
    kind: 'json',
  },
  { path: [{ key: 'list', asText: true }], kind: 'text' },
]

/** How deep relations are embedded in each other, and conditions in conditions. */
const DEPTH = 3

/** Makes up queries, most of which have an answer with rows. */
export const askedAtRandom: fc.Arbitrary<Asked> = fc.gen().map((draw) => {
  const pick = <T>(from: readonly T[]): T => draw(fc.constantFrom<T[]>, ...from)
  const whole = (max: number): number => draw(fc.nat, { max })
  const isRare = (oneOf: number): boolean => whole(oneOf - 1) === 0
  let names = 0

  const ask = (
    table: string,
    depth: number,
    may: { readonly aggregate: boolean; readonly cut: boolean; readonly items: number },
  ): Asked => {
    const isAggregating = may.aggregate && isRare(4)
    const items = Array.from({ length: may.items && 1 + whole(may.items - 1) }, () =>
      item(table, depth, isAggregating, may.aggregate),
    )
    const taken = new Set<string>()
    const unlike = items.filter((each) => {
      if (each.kind !== 'embedded') return true
      const name = each.alias ?? each.relation.written.split('!')[0] ?? ''
      return !taken.has(name) && taken.add(name)
    })
    const embedded = unlike.filter((each) => each.kind === 'embedded')
    const shown: Omit<Asked, 'order' | 'limit' | 'offset'> = {
      table,
      items: unlike,
      conditions: Array.from({ length: whole(2) }, () => condition(table, embedded, 0)),
    }
    const plain = { ...shown, order: [], limit: null, offset: 0 }
    if (!may.cut || isGrouped(plain)) return plain
    const byKey = keyOf(table).map((column): Order => ({ relation: null, column, descending: isRare(3), nulls: null }))
    const order = [...Array.from({ length: whole(1) }, () => term(table, embedded)), ...byKey]
    return { ...plain, order, limit: isRare(3) ? whole(4) : null, offset: isRare(5) ? whole(2) : 0 }
  }

  const item = (table: string, depth: number, isAggregating: boolean, mayAggregate: boolean): Item => {
    const relations = RELATIONS.filter(({ from }) => from === table)
    if (depth < DEPTH && relations.length > 0 && isRare(2)) {
      const relation = pick(relations)
      const spread = isRare(3)
      const may = { aggregate: spread ? mayAggregate && relation.toOne : true, cut: !relation.toOne }
      const asked = ask(relation.table, depth + 1, { ...may, items: isRare(8) ? 0 : 3 })
      return {
        kind: 'embedded',
        relation,
        alias: !spread && isRare(3) ? `e${names++}` : null,
        inner: isRare(4),
        spread,
        asked,
      }
    }
    if (isAggregating && isRare(2)) {
      if (isRare(2)) return { kind: 'count', alias: isRare(2) ? `n${names++}` : null }
      const column = pick(Object.keys(COLUMNS[table] ?? {}).filter((each) => COLUMNS[table]?.[each] === 'number'))
      return {
        kind: 'field',
        alias: `f${names++}`,
        column,
        path: [],
        cast: null,
        aggregate: pick(['sum', 'min', 'max', 'count'] as const),
      }
    }
    if (!isAggregating && isRare(6)) return { kind: 'all' }
    const column = pick(Object.keys(COLUMNS[table] ?? {}))
    const kind = COLUMNS[table]?.[column]
    const path = kind === 'json' && isRare(2) ? pick(PATHS).path : []
    return {
      kind: 'field',
      alias: isRare(4) ? `f${names++}` : null,
      column,
      path,
      cast: kind === 'number' && isRare(6) ? 'text' : null,
      aggregate: null,
    }
  }

  const condition = (table: string, embedded: readonly Embedded[], depth: number): Condition => {
    const negated = isRare(4)
    if (depth < 2 && isRare(4)) {
      const conditions = Array.from({ length: 1 + whole(2) }, () => condition(table, embedded, depth + 1))
      return { kind: pick(['and', 'or'] as const), negated, conditions }
    }
    const [one] = embedded
    if (one && isRare(4))
      return { kind: 'present', negated, name: one.alias ?? one.relation.written.split('!')[0] ?? '' }
    const column = pick(Object.keys(COLUMNS[table] ?? {}))
    const of = COLUMNS[table]?.[column] ?? 'number'
    const { path, kind } = of === 'json' ? pick(PATHS) : { path: [], kind: of }
    const operator = pick(OPERATORS[kind])
    return { kind: 'filter', negated, column, path, operator, value: valueFor(table, column, kind, operator) }
  }

  const valueFor = (table: string, column: string, kind: Kind, operator: Operator): Value => {
    if (operator === 'is') return kind === 'truth' ? pick([true, false, null]) : null
    const known = (READABLE[table] ?? []).map((row) => row[column] ?? null)
    const one = (): Value => {
      if (kind === 'json') return pick<Value>([1, 2, 'one', 4])
      if (kind === 'text') return pick([...known.filter((each) => typeof each === 'string'), 'tug', 'x', 'zzz'])
      if (kind === 'truth') return pick([true, false])
      return pick([...known.filter((each) => typeof each === 'number'), 0, 25])
    }
    if (kind === 'list') return Array.from({ length: whole(2) }, () => pick(['fish', 'ice', 'oil']))
    if (operator === 'in') return Array.from({ length: whole(3) }, one)
    const value = one()
    if (operator !== 'like' && operator !== 'ilike') return value
    const text = String(value)
    return pick([text, `${text.slice(0, 1)}*`, `*${text.slice(-1)}`, `*${text.slice(1, 2).toUpperCase()}*`])
  }

  const term = (table: string, embedded: readonly Embedded[]): Order => {
    const way = { descending: isRare(2), nulls: pick(['first', 'last', null] as const) }
    const single = embedded.filter(({ relation }) => relation.toOne)
    const sortable = (of: string): readonly string[] =>
      Object.entries(COLUMNS[of] ?? {}).flatMap(([name, kind]) => (kind === 'number' || kind === 'text' ? [name] : []))
    if (single.length === 0 || isRare(2)) return { relation: null, column: pick(sortable(table)), ...way }
    const one = pick(single)
    return {
      relation: one.alias ?? one.relation.written.split('!')[0] ?? '',
      column: pick(sortable(one.relation.table)),
      ...way,
    }
  }

  return ask(pick([...Object.keys(QUAY), 'big_ship']), 0, { aggregate: true, cut: true, items: 3 })
})

/** The parameters of a query. */
export function parametersOf(asked: Asked, at = ''): [name: string, value: string][] {
  const own = at === '' ? [['select', selectOf(asked)] as [string, string]] : []
  const conditions = asked.conditions.map((each): [string, string] => {
    if ('conditions' in each) {
      return [`${at}${each.negated ? 'not.' : ''}${each.kind}`, `(${each.conditions.map(conditionText).join(',')})`]
    }
    const [name = '', ...operation] = partsOf(each, false)
    return [`${at}${name}`, operation.join('.')]
  })
  const order = asked.order.map(({ relation, column, descending, nulls }) =>
    [
      relation === null ? column : `${relation}(${column})`,
      ...(descending ? ['desc'] : []),
      ...(nulls ? [`nulls${nulls}`] : []),
    ].join('.'),
  )
  return [
    ...own,
    ...conditions,
    ...(order.length > 0 ? [[`${at}order`, order.join(',')] as [string, string]] : []),
    ...(asked.limit === null ? [] : [[`${at}limit`, String(asked.limit)] as [string, string]]),
    ...(asked.offset === 0 ? [] : [[`${at}offset`, String(asked.offset)] as [string, string]]),
    ...asked.items.flatMap((item) =>
      item.kind === 'embedded'
        ? parametersOf(item.asked, `${at}${item.alias ?? item.relation.written.split('!')[0]}.`)
        : [],
    ),
  ]
}

const selectOf = ({ items }: Asked): string =>
  items
    .map((item) => {
      if (item.kind === 'all') return '*'
      const alias = item.kind !== 'embedded' || !item.spread ? (item.alias === null ? '' : `${item.alias}:`) : '...'
      if (item.kind === 'count') return `${alias}count()`
      if (item.kind === 'embedded')
        return `${alias}${item.relation.written}${item.inner ? '!inner' : ''}(${selectOf(item.asked)})`
      const cast = item.cast ? `::${item.cast}` : ''
      return `${alias}${item.column}${pathText(item.path)}${cast}${item.aggregate ? `.${item.aggregate}()` : ''}`
    })
    .join(',')

const pathText = (path: readonly Step[]): string =>
  path.map(({ key, asText }) => `${asText ? '->>' : '->'}${key}`).join('')

const conditionText = (condition: Condition): string =>
  'conditions' in condition
    ? `${condition.negated ? 'not.' : ''}${condition.kind}(${condition.conditions.map(conditionText).join(',')})`
    : partsOf(condition, true).join('.')

/** The parts of a filter between its points. */
function partsOf(condition: Exclude<Condition, { kind: 'and' | 'or' }>, within: boolean): readonly string[] {
  const not = condition.negated ? ['not'] : []
  if (condition.kind === 'present') return [condition.name, ...not, 'is', 'null']
  const { column, path, operator, value } = condition
  return [`${column}${pathText(path)}`, ...not, operator, valueText(operator, value, path, within)]
}

function valueText(operator: Operator, value: Value, path: readonly Step[], within: boolean): string {
  if (operator === 'in' && Array.isArray(value)) return `(${value.join(',')})`
  if (Array.isArray(value)) return `{${value.join(',')}}`
  const isJson = path.length > 0 && path.at(-1)?.asText === false && operator !== 'is'
  const text = isJson ? JSON.stringify(value) : String(value)
  return within && isJson && typeof value === 'string' ? `"${text.replaceAll('"', '\\"')}"` : text
}

/** Whether the order of any rows in the answer is not given. */
export const isUnordered = (asked: Asked): boolean =>
  isGrouped(asked) ||
  asked.items.some((item) => item.kind === 'embedded' && showsAnything(item.asked) && isUnordered(item.asked))
