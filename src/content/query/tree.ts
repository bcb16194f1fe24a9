import { type AppError, invalidRequest, type PostgrestError } from '../../errors.ts'
import type { CatalogTable, StageCatalog } from './catalog.ts'
import { findRelation, type Relation } from './find-relation.ts'
import type { Condition, Filter } from './parse-filter.ts'
import type { OrderTerm } from './parse-order.ts'
import type { ParsedQuery, TablePart } from './parse-query.ts'
import type { SelectedCount, SelectedField, SelectedRelation, SelectItem } from './parse-select.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import type { Reader } from './reader.ts'
import { suggest } from './suggest.ts'

export interface Embedding {
  /** What it is called in the answer, and in paths. */
  readonly name: string
  readonly selected: SelectedRelation
  readonly relation: Relation
  readonly node: TableNode
}

export type NodeItem =
  | { readonly kind: 'all' }
  | SelectedField
  | SelectedCount
  | { readonly kind: 'embedding'; readonly embedding: Embedding }

/** One table of a read, with everything that is asked of it. */
export interface TableNode {
  readonly table: CatalogTable
  /** Its name in the statement: `t0`, `t1`, ... */
  readonly alias: string
  readonly items: readonly NodeItem[]
  readonly embeddings: readonly Embedding[]
  /** Whether there is an aggregate among its items, or among those of a row that is spread into its own. */
  readonly aggregated: boolean
  /** Whether its rows are grouped. Those of a row that is spread are not: its aggregates are over the groups around it. */
  readonly grouped: boolean
  /** Whether what is selected of it is grouped by, here or in the row around it, so that JSON has to be `jsonb`. */
  comparable: boolean
  readonly conditions: Condition[]
  readonly order: OrderTerm[]
  limit: number | null
  offset: number
  /** The text of `select`, for error messages about what stands in it. */
  readonly reader: Reader | null
}

const ALL: readonly SelectItem[] = [{ kind: 'all' }]

/**
 * Puts a query together as a tree: the table asked for, and the relations embedded in it, each with its own filters,
 * order and limit.
 *
 * @throws {AppError} INVALID_REQUEST: a relation that is unknown, ambiguous, or filtered without being embedded.
 */
export function buildTree(catalog: StageCatalog, table: CatalogTable, query: ParsedQuery): TableNode {
  const reader = query.select?.reader ?? null
  let aliases = 0
  const build = (of: CatalogTable, items: readonly SelectItem[], spread: boolean): TableNode => {
    const alias = `t${aliases++}`
    const nodeItems = items.map((item): NodeItem => {
      if (item.kind === 'relation') return { kind: 'embedding', embedding: embed(of, item) }
      return isBareCount(item, of) ? { kind: 'count', alias: item.alias, cast: item.cast } : item
    })
    const aggregated = nodeItems.some(hasAggregate)
    return {
      table: of,
      alias,
      items: nodeItems,
      embeddings: nodeItems.flatMap((item) => (item.kind === 'embedding' ? [item.embedding] : [])),
      aggregated,
      grouped: aggregated && !spread,
      comparable: false,
      conditions: [],
      order: [],
      limit: null,
      offset: 0,
      reader,
    }
  }
  const embed = (of: CatalogTable, selected: SelectedRelation): Embedding => {
    const refuse = (problem: string, code?: string, postgrest?: PostgrestError): AppError =>
      reader?.refused(problem, selected.position, code, postgrest) ?? invalidRequest(problem, [], code, postgrest)
    const relation = findRelation(catalog, of, selected, refuse)
    const node = build(relation.table, selected.items, selected.spread)
    if (selected.spread && !relation.toOne && node.aggregated) {
      throw refuse(
        `"${selected.name}" has many rows for one of "${of.name}", so there are no aggregates in what is spread of it`,
        POSTGREST.aggregateOfMany,
        POSTGREST_SAYS.aggregateOfMany,
      )
    }
    return { name: selected.alias ?? selected.name, selected, relation, node }
  }
  const root = build(table, query.select?.items ?? ALL, false)
  markComparable(root, false)
  for (const part of query.parts) attach(root, part)
  return root
}

function markComparable(node: TableNode, around: boolean): void {
  node.comparable = around || node.aggregated
  for (const { selected, node: inner } of node.embeddings) markComparable(inner, selected.spread && node.comparable)
}

const hasAggregate = (item: NodeItem): boolean =>
  item.kind === 'count' ||
  (item.kind === 'field' && item.aggregate !== null) ||
  (item.kind === 'embedding' && item.embedding.selected.spread && item.embedding.node.aggregated)

/** Whether all that is shown of a table are aggregates, which there is one row of, be there any row or none. */
export const isOneGroup = ({ grouped, items }: Pick<TableNode, 'grouped' | 'items'>): boolean =>
  grouped && items.every(isOfGroup)

const isOfGroup = (item: NodeItem): boolean =>
  item.kind === 'count' ||
  (item.kind === 'field' && item.aggregate !== null) ||
  (item.kind === 'embedding' &&
    (!showsAnything(item.embedding.selected) ||
      (item.embedding.selected.spread && item.embedding.node.items.every(isOfGroup))))

/** Whether anything is selected, of the relation itself or of those in it. An empty selection is for filters. */
export const showsAnything = ({ items }: SelectedRelation): boolean =>
  items.some((item) => item.kind !== 'relation' || showsAnything(item))

/** `artist(count)`: an older way to say `count()`, which clients still use; where there is no such column. */
const isBareCount = (item: SelectItem, { columns }: CatalogTable): item is SelectedField =>
  item.kind === 'field' &&
  item.field.name === 'count' &&
  item.field.path.length === 0 &&
  item.aggregate === null &&
  !columns.has('count')

function attach(root: TableNode, { path, reader, content }: TablePart): void {
  let node = root
  for (const step of path) {
    const embedding = findEmbedding(node, step)
    if (!embedding) {
      const names = node.embeddings.map(({ name }) => name)
      const problem = `"${step}" is not embedded in "${node.table.name}" by select${suggest(step, names)}`
      throw reader.refused(problem, 0, POSTGREST.notEmbedded, POSTGREST_SAYS.notEmbedded(step))
    }
    node = embedding.node
  }
  if (content.kind === 'condition') node.conditions.push(content.condition)
  else if (content.kind === 'order') node.order.push(...content.terms)
  else node[content.kind] = content.rows
}

/** By the name that it has in the answer, or else by what was embedded. */
export const findEmbedding = ({ embeddings }: TableNode, name: string): Embedding | undefined =>
  embeddings.find((each) => each.name === name) ?? embeddings.find(({ selected }) => selected.name === name)

/**
 * The embedded relation whose presence a filter is about (`artist=is.null`), by the name that it has in the answer; undefined
 * where it is about a column.
 */
export function findPresence(node: TableNode, { field, operator, values }: Filter): Embedding | undefined {
  const isAboutNull = operator.family === 'is' && (values[0] === 'null' || values[0] === 'not_null')
  return isAboutNull && field.path.length === 0 ? node.embeddings.find(({ name }) => name === field.name) : undefined
}
