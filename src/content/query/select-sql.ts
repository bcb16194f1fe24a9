import { quoteIdentifier } from '../../database/quoting.ts'
import type { Representation } from './catalog.ts'
import { callSql, fieldSql } from './column-sql.ts'
import { joinedAlias, orderSql } from './order-sql.ts'
import { assertAlias, type SelectedField } from './parse-select.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import type { Reader } from './reader.ts'
import { fromSql, relatedSource, type Scope, type Source, whereSql } from './rows-sql.ts'
import { suggest } from './suggest.ts'
import { type Embedding, showsAnything, type TableNode } from './tree.ts'

export interface Select {
  readonly sql: string
  /** What its columns are called. */
  readonly names: readonly string[]
  /** Aggregates of a row that is spread: its columns of these names are what they are taken of, in the row around it. */
  readonly aggregates: ReadonlyMap<string, Aggregation>
}

/** SQL for an aggregate of a value. */
type Aggregation = (value: string) => string

/** What a SELECT list consists of. */
interface Outputs {
  /** SQL by name. */
  readonly columns: ReadonlyMap<string, string>
  readonly aggregates: ReadonlyMap<string, Aggregation>
  readonly joins: readonly string[]
  /** Single rows that are joined: what their columns are called, by what is embedded. */
  readonly joined: ReadonlyMap<Embedding, readonly string[]>
  /** What rows are grouped by, where there is an aggregate. */
  readonly groups: readonly string[]
}

/** What it is gathered into. */
interface Gathered {
  /** By name: of two with one name the later counts, as it would for a reader of JSON. */
  readonly columns: Map<string, GatheredColumn>
  readonly joins: string[]
  readonly joined: Map<Embedding, readonly string[]>
}

interface GatheredColumn {
  /** Called once nothing can take its place any more: the parameters of one that is not selected would have no use. */
  readonly sql: () => string
  readonly aggregate: Aggregation | undefined
}

type Add = (name: string, sql: () => string, aggregate?: Aggregation) => void

/**
 * The statement that gives a node's rows, with what is embedded in them.
 *
 * The page is cut out of the table before single rows are joined to it: so PostgreSQL joins them to a page's rows only,
 * in whatever way is best for so many. Their number holds for what comes of that, too: a function that is declared to return
 * one row may return more.
 */
export function selectSql(scope: Scope, node: TableNode, source: Source = {}): Select {
  const outputs = outputsOf(scope, node)
  const list = listSql(outputs)
  const joins = outputs.joins.join('')
  const from = fromSql(scope, node, source)
  const where = whereSql(scope, node, source)
  const { sql: order, needsJoins } = orderSql(scope, node, outputs)
  const limit = node.limit === null ? '' : ` LIMIT ${limitSql(node.limit)}`
  const offset = node.offset === 0 ? '' : ` OFFSET ${scope.parameters.integer(node.offset)}`
  const isCutFirst = limit + offset !== '' && joins !== '' && !node.grouped && !needsJoins
  const sql = isCutFirst
    ? `${list} FROM (SELECT ${node.alias}.* FROM ${from}${where}${order}${limit}${offset}) AS ${node.alias}${joins}${order}${limit}`
    : `${list} FROM ${from}${joins}${where}${groupSql(node, outputs)}${order}${limit}${offset}`
  return { sql, names: [...outputs.columns.keys()], aggregates: outputs.aggregates }
}

/** In the text itself: of a parameter, PostgreSQL would not know how few rows it has to plan for. */
function limitSql(limit: number): string {
  if (!Number.isSafeInteger(limit)) throw new Error(`${limit} is no number of rows`)
  return String(limit)
}

/** The statement whose rows are those that a node would give without its limit, to be counted. */
export function countedSql(scope: Scope, node: TableNode, source: Source = {}): string {
  if (!node.grouped) return `SELECT FROM ${fromSql(scope, node, source)}${whereSql(scope, node, source)}`
  const outputs = outputsOf(scope, node)
  const from = `${fromSql(scope, node, source)}${outputs.joins.join('')}${whereSql(scope, node, source)}`
  return `${listSql(outputs)} FROM ${from}${groupSql(node, outputs)}`
}

const groupSql = ({ grouped }: TableNode, { groups }: Outputs): string =>
  grouped && groups.length > 0 ? ` GROUP BY ${groups.join(', ')}` : ''

const listSql = ({ columns }: Outputs): string =>
  `SELECT ${[...columns].map(([name, sql]) => `${sql} AS ${quoteIdentifier(name)}`).join(', ')}`

function outputsOf(scope: Scope, node: TableNode): Outputs {
  const gathered: Gathered = { columns: new Map(), joins: [], joined: new Map() }
  for (const item of node.items) addItem(scope, node, gathered, item)
  const columns = new Map<string, string>()
  const aggregates = new Map<string, Aggregation>()
  const groups: string[] = []
  for (const [name, { sql, aggregate }] of gathered.columns) {
    const value = sql()
    columns.set(name, aggregate && node.grouped ? aggregate(value) : value)
    if (!aggregate) groups.push(value)
    else if (!node.grouped) aggregates.set(name, aggregate)
  }
  return { columns, aggregates, joins: gathered.joins, joined: gathered.joined, groups }
}

/** What is there in every row. */
const HERE = 'true'

function addItem(scope: Scope, node: TableNode, gathered: Gathered, item: TableNode['items'][number]): void {
  const { columns, joins, joined } = gathered
  const add: Add = (name, sql, aggregate) => columns.set(name, { sql, aggregate })
  if (item.kind === 'all') {
    for (const { name, type } of node.table.columns.values()) {
      add(name, () => representedSql(scope, node, `${node.alias}.${quoteIdentifier(name)}`, type.representation))
    }
  } else if (item.kind === 'count') {
    // A row that is spread has a value to be counted, so that where there is no row none is.
    const counted: Aggregation = (value) =>
      castSql(scope, node, `pg_catalog.count(${value === HERE ? '*' : value})`, item.cast)
    add(item.alias ?? 'count', () => HERE, counted)
  } else if (item.kind === 'field') {
    const { aggregate } = item
    const aggregation: Aggregation | undefined = aggregate
      ? (value) => castSql(scope, node, `pg_catalog.${aggregate.name}(${value})`, aggregate.cast)
      : undefined
    add(fieldName(node, item), () => selectedSql(scope, node, item), aggregation)
  } else addEmbedding(scope, node, { joins, joined, add }, item.embedding)
}

function addEmbedding(
  scope: Scope,
  around: TableNode,
  { joins, joined, add }: Pick<Gathered, 'joins' | 'joined'> & { readonly add: Add },
  embedding: Embedding,
): void {
  const { name, selected, relation, node } = embedding
  if (!showsAnything(selected)) return
  // What a function gives that says to give one row is one, whatever it gives: the row around it would come as often.
  const limit = relation.computed && relation.toOne ? Math.min(node.limit ?? 1, 1) : node.limit
  const select = (): Select => selectSql(scope, { ...node, limit }, relatedSource(scope, relation, around, node))
  const rows = joinedAlias(node)
  const toJson = around.comparable ? 'pg_catalog.to_jsonb' : 'pg_catalog.row_to_json'
  if (relation.toOne) {
    const { sql, names, aggregates } = select()
    joins.push(` LEFT JOIN LATERAL (${sql}) AS ${rows} ON true`)
    joined.set(embedding, names)
    if (!selected.spread) add(name, () => `${toJson}(${rows}.*)`)
    else for (const each of names) add(each, () => `${rows}.${quoteIdentifier(each)}`, aggregates.get(each))
    return
  }
  if (selected.spread) {
    const { sql, names } = select()
    const form = around.comparable ? '::pg_catalog.jsonb' : ''
    const arrays = names.map(
      (each) => `${arraySql(`${rows}.${quoteIdentifier(each)}`)}${form} AS ${quoteIdentifier(each)}`,
    )
    joins.push(` CROSS JOIN LATERAL (SELECT ${arrays.join(', ')} FROM (${sql}) AS ${rows}) AS ${node.alias}_rows`)
    for (const each of names) add(each, () => `${node.alias}_rows.${quoteIdentifier(each)}`)
    return
  }
  const all = (): string =>
    `(SELECT ${arraySql(`pg_catalog.row_to_json(${rows}.*)`)} FROM (${select().sql}) AS ${rows})`
  if (around.comparable) {
    // Grouped by, so it has to be a column, and comparable.
    joins.push(` CROSS JOIN LATERAL (SELECT ${all()}::pg_catalog.jsonb AS body) AS ${node.alias}_body`)
    add(name, () => `${node.alias}_body.body`)
  } else add(name, all)
}

const arraySql = (value: string): string => `COALESCE(pg_catalog.json_agg(${value}), '[]'::pg_catalog.json)`

/** What is selected, or what its aggregate is taken of. */
function selectedSql(scope: Scope, node: TableNode, { field, cast, aggregate }: SelectedField): string {
  const { sql, representation } = fieldSql(scope, node, field, readerOf(node), node.comparable)
  return castSql(scope, node, representedSql(scope, node, sql, aggregate ? {} : representation), cast)
}

/** A value in the form that the project has given it in JSON, if it has. */
function representedSql(scope: Scope, node: TableNode, value: string, { toJson }: Representation = {}): string {
  if (!toJson || scope.plain) return value
  const json = callSql(scope, toJson, value)
  return node.comparable ? `${json}::pg_catalog.jsonb` : json
}

function castSql({ catalog }: Scope, node: TableNode, sql: string, cast: SelectedField['cast']): string {
  if (!cast) return sql
  const type = catalog.castTypes.get(cast.type)
  if (type) return `${sql}::${type.sql}`
  const known = suggest(cast.type, catalog.castTypes.keys())
  const problem = `there is no type "${cast.type}" to cast to${known}`
  throw readerOf(node).refused(problem, cast.position, POSTGREST.unknownType, POSTGREST_SAYS.unknownType(cast.type))
}

/** The name of a column in the answer: its alias, or the last key of its path, or its own. */
function fieldName(node: TableNode, { alias, field, aggregate }: SelectedField): string {
  if (alias !== null) return alias
  if (aggregate) return aggregate.name
  const key = field.path.findLast((step): step is typeof step & { key: string } => typeof step.key === 'string')?.key
  if (key !== undefined) assertAlias(readerOf(node), key, field.position)
  return key ?? field.name
}

function readerOf({ reader }: TableNode): Reader {
  if (!reader) throw new Error('what is selected without a parameter has no place in it')
  return reader
}
