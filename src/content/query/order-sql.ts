import { fieldSql } from './column-sql.ts'
import type { OrderTerm } from './parse-order.ts'
import { fromSql, joinSql, type Scope } from './rows-sql.ts'
import { findEmbedding, type TableNode } from './tree.ts'

/**
 * @param groups what rows are grouped by, where they are.
 * @throws {AppError} INVALID_REQUEST: an unknown column, one that is not grouped by, or of a relation to many rows.
 */
export function orderSql(scope: Scope, node: TableNode, groups: readonly string[]): string {
  if (node.order.length === 0) return ''
  const terms = node.order.map((term) => {
    const sql = term.relation === null ? ownOrder(scope, node, term) : relatedOrder(scope, node, term, term.relation)
    if (node.grouped && !groups.includes(sql)) {
      throw term.reader.refused(`"${term.field.name}" is not selected, and rows are grouped`, term.field.position)
    }
    return `${sql} ${term.direction}${term.nulls ? ` NULLS ${term.nulls}` : ''}`
  })
  return ` ORDER BY ${terms.join(', ')}`
}

const ownOrder = (scope: Scope, node: TableNode, { field, reader }: OrderTerm): string =>
  fieldSql(scope, node, field, reader, true).sql

function relatedOrder(scope: Scope, around: TableNode, { field, reader }: OrderTerm, name: string): string {
  const embedding = findEmbedding(around, name)
  if (!embedding) throw reader.refused(`"${name}" is not embedded in "${around.table.name}" by select`, 0)
  const { relation, node } = embedding
  if (!relation.toOne) {
    throw reader.refused(`"${name}" has many rows for one of "${around.table.name}", which can't be ordered by them`, 0)
  }
  const { sql } = fieldSql(scope, node, field, reader, true)
  return `(SELECT ${sql} FROM ${fromSql(scope, node)} WHERE ${joinSql(scope, relation, around, node)})`
}
