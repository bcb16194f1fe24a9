import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import type { CatalogTable } from './catalog.ts'
import { callSql, rowSql, type Writing } from './column-sql.ts'
import { conditionSql } from './filter-sql.ts'
import type { Relation } from './find-relation.ts'
import { operatorSql } from './operator-sql.ts'
import type { Filter } from './parse-filter.ts'
import { type Embedding, findPresence, isOneGroup, type TableNode } from './tree.ts'

/** What a statement is written with. */
export interface Scope extends Writing {
  /** Whether its answer is kept until rows change, and so must not depend on the clock. */
  readonly kept: boolean
  /** Whether values of domains are shown as they are, and not as the project writes them in JSON. */
  readonly plain?: boolean
}

/** Where a node's rows come from: its table, unless another source is given. */
export interface Source {
  /** Instead of the table, something with the same columns. */
  readonly from?: string
  /** A table that its rows are joined with: the one in between. */
  readonly beside?: string
  /** The condition that makes its rows those of the row around it. */
  readonly join?: string
}

export const fromSql = (scope: Scope, { table, alias }: TableNode, { from, beside }: Source = {}): string =>
  `${from ?? tableSql(scope, table)} AS ${alias}${beside ? `, ${beside}` : ''}`

/** A table, to be read. */
function tableSql({ catalog, parameters }: Scope, { name, unseen }: CatalogTable): string {
  parameters.unseen ||= unseen
  return quoteQualified(catalog.schemaName, name)
}

/** The rows of a relation that belong to the row around it. Through a table in between, each as often as that has it. */
export function relatedSource(scope: Scope, { computed, on, through }: Relation, near: Joined, far: Joined): Source {
  if (computed) return { from: callSql(scope, computed, rowSql(scope, near)) }
  if (!through) return { join: equalSql(on, near, far) }
  const between = { table: through.table, alias: `${far.alias}_between` }
  return {
    beside: `${tableSql(scope, between.table)} AS ${between.alias}`,
    join: `${equalSql(on, near, between)} AND ${equalSql(through.on, between, far)}`,
  }
}

/** The conditions on a node's rows; those on rows embedded in them only where they decide about the row itself. */
export function whereSql(scope: Scope, node: TableNode, { join }: Source): string {
  const { table, alias } = node
  const filterScope = {
    catalog: scope.catalog,
    parameters: scope.parameters,
    kept: scope.kept,
    table,
    alias,
    presence: (filter: Filter) => {
      const embedding = findPresence(node, filter)
      if (!embedding) return null
      const wanted = (filter.values[0] === 'null') === filter.negated
      return `${wanted ? '' : 'NOT '}${existsSql(scope, node, embedding)}`
    },
  }
  const all = [
    ...(join === undefined ? [] : [join]),
    ...node.conditions.map((condition) => conditionSql(filterScope, condition)),
    ...node.embeddings.filter(({ selected }) => selected.inner).map((each) => existsSql(scope, node, each)),
  ]
  return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`
}

/** Whether an embedded relation has rows to show: those that its filters and its page leave, or the sum of all. */
function existsSql(scope: Scope, around: TableNode, { selected, relation, node }: Embedding): string {
  if (!selected.spread && isOneGroup(node)) return 'true'
  const source = relatedSource(scope, relation, around, node)
  const none = node.limit === 0 ? ' LIMIT 0' : ''
  const cut = node.offset === 0 ? none : `${none} OFFSET ${scope.parameters.integer(node.offset)}`
  return `EXISTS (SELECT FROM ${fromSql(scope, node, source)}${whereSql(scope, node, source)}${cut})`
}

type Joined = Pick<TableNode, 'table' | 'alias'>

const equalSql = (pairs: Relation['on'], left: Joined, right: Joined): string =>
  pairs.map(([a, b]) => `${columnSql(left, a)} ${equalsSql(left, a, right, b)} ${columnSql(right, b)}`).join(' AND ')

const columnSql = ({ alias }: Joined, name: string): string => `${alias}.${quoteIdentifier(name)}`

function equalsSql(left: Joined, a: string, right: Joined, b: string): string {
  const types = [left.table.columns.get(a), right.table.columns.get(b)].flatMap((column) => column?.type ?? [])
  return operatorSql('=', ...types)
}
