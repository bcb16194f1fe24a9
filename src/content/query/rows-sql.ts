import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import type { CatalogTable, StageCatalog } from './catalog.ts'
import { conditionSql } from './filter-sql.ts'
import type { Relation } from './find-relation.ts'
import { operatorSql } from './operator-sql.ts'
import type { Parameters } from './parameters.ts'
import type { Filter } from './parse-filter.ts'
import { type Embedding, findPresence, type TableNode } from './tree.ts'

/** What a statement is written with. */
export interface Scope {
  readonly catalog: StageCatalog
  readonly parameters: Parameters
  /** Whether its answer is kept until rows change, and so must not depend on the clock. */
  readonly kept: boolean
}

/** Where a node's rows come from: its table, unless another source is given. */
export interface Source {
  /** Instead of the table, something with the same columns. */
  readonly from?: string
  /** The condition that makes its rows those of the row around it. */
  readonly join?: string
}

export const fromSql = (scope: Scope, { table, alias }: TableNode, { from }: Source = {}): string =>
  `${from ?? tableSql(scope, table)} AS ${alias}`

/** A table, to be read. */
function tableSql({ catalog, parameters }: Scope, { name, unseen }: CatalogTable): string {
  parameters.unseen ||= unseen
  return quoteQualified(catalog.schemaName, name)
}

/** The conditions on a node's rows; those on rows embedded in them only where they decide about the row itself. */
export function whereSql(scope: Scope, node: TableNode, { join }: Source): string {
  const { table, alias } = node
  const filterScope = {
    ...scope,
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

const existsSql = (scope: Scope, around: TableNode, { relation, node }: Embedding): string =>
  `EXISTS (SELECT FROM ${fromSql(scope, node)}${whereSql(scope, node, { join: joinSql(scope, relation, around, node) })})`

type Joined = Pick<TableNode, 'table' | 'alias'>

export function joinSql(scope: Scope, { on, through }: Relation, near: Joined, far: Joined): string {
  if (!through) return equalSql(on, near, far)
  const between = { table: through.table, alias: `${far.alias}_between` }
  const both = `${equalSql(on, near, between)} AND ${equalSql(through.on, between, far)}`
  return `EXISTS (SELECT FROM ${tableSql(scope, between.table)} AS ${between.alias} WHERE ${both})`
}

const equalSql = (pairs: Relation['on'], left: Joined, right: Joined): string =>
  pairs.map(([a, b]) => `${columnSql(left, a)} ${equalsSql(left, a, right, b)} ${columnSql(right, b)}`).join(' AND ')

const columnSql = ({ alias }: Joined, name: string): string => `${alias}.${quoteIdentifier(name)}`

function equalsSql(left: Joined, a: string, right: Joined, b: string): string {
  const types = [left.table.columns.get(a), right.table.columns.get(b)].flatMap((column) => column?.type ?? [])
  return operatorSql('=', ...types)
}
