import { quoteIdentifier } from '../../database/quoting.ts'
import { fieldSql, pathSql } from './column-sql.ts'
import type { OrderTerm } from './parse-order.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import { fromSql, relatedSource, type Scope, whereSql } from './rows-sql.ts'
import { type Embedding, findEmbedding, type TableNode } from './tree.ts'

/** What the rows that are ordered have beside the columns of their table. */
interface Ordered {
  /** Single rows that are joined to each: what their columns are called, by what is embedded. */
  readonly joined: ReadonlyMap<Embedding, readonly string[]>
  /** What rows are grouped by, where they are. */
  readonly groups: readonly string[]
}

interface Term {
  readonly sql: string
  /** Whether it is by a column of a row that is joined. */
  readonly needsJoins: boolean
}

/** What the statement calls the single row that is joined for an embedded relation. */
export const joinedAlias = ({ alias }: TableNode): string => `${alias}_row`

/** @throws {AppError} INVALID_REQUEST: an unknown column, one that is not grouped by, or of a relation to many rows. */
export function orderSql(scope: Scope, node: TableNode, ordered: Ordered): Term {
  if (node.order.length === 0) return { sql: '', needsJoins: false }
  const terms = node.order.map((term): Term => {
    const { sql, needsJoins } =
      term.relation === null ? ownOrder(scope, node, term) : relatedOrder(scope, node, term, term.relation, ordered)
    if (node.grouped && !ordered.groups.includes(sql)) {
      throw term.reader.refused(`"${term.field.name}" is not selected, and rows are grouped`, term.field.position)
    }
    return { sql: `${sql} ${term.direction}${term.nulls ? ` NULLS ${term.nulls}` : ''}`, needsJoins }
  })
  return {
    sql: ` ORDER BY ${terms.map(({ sql }) => sql).join(', ')}`,
    needsJoins: terms.some(({ needsJoins }) => needsJoins),
  }
}

const ownOrder = (scope: Scope, node: TableNode, { field, reader }: OrderTerm): Term => ({
  sql: fieldSql(scope, node, field, reader, true).sql,
  needsJoins: false,
})

function relatedOrder(
  scope: Scope,
  around: TableNode,
  { field, reader }: OrderTerm,
  name: string,
  { joined }: Ordered,
): Term {
  const embedding = findEmbedding(around, name)
  if (!embedding) {
    const problem = `"${name}" is not embedded in "${around.table.name}" by select`
    throw reader.refused(problem, 0, POSTGREST.notEmbedded, POSTGREST_SAYS.notEmbedded(name))
  }
  const { relation, node } = embedding
  if (!relation.toOne) {
    const problem = `"${name}" has many rows for one of "${around.table.name}", which can't be ordered by them`
    throw reader.refused(problem, 0, POSTGREST.orderByMany, POSTGREST_SAYS.orderByMany(around.table.name, name))
  }
  const isShown = joined.get(embedding)?.includes(field.name) === true
  if (isShown && (around.grouped || !isOwnColumn(node, field.name) || isShownAsItIs(node, field.name))) {
    const selected = `${joinedAlias(node)}.${quoteIdentifier(field.name)}`
    const sql =
      field.path.length === 0 ? selected : pathSql(scope.parameters, `pg_catalog.to_jsonb(${selected})`, field.path)
    return { sql, needsJoins: true }
  }
  const { sql } = fieldSql(scope, node, field, reader, true)
  const source = relatedSource(scope, relation, around, node)
  return {
    sql: `(SELECT ${sql} FROM ${fromSql(scope, node, source)}${whereSql(scope, node, source)})`,
    needsJoins: false,
  }
}

/** Whether a name means a column of the table itself, and not what has been given that name by `select`. */
const isOwnColumn = ({ table, items }: TableNode, name: string): boolean =>
  table.columns.has(name) && !items.some((item) => item.kind === 'field' && item.alias === name)

/** Whether a column of the row is among what is selected of it in the form that it has, so that it need not be looked up again. */
function isShownAsItIs({ table, items }: TableNode, name: string): boolean {
  const type = table.columns.get(name)?.type
  if (!type || type.builtIn === 'json' || type.representation.toJson) return false
  return items.some(
    (item) =>
      item.kind === 'field' &&
      item.alias === null &&
      item.field.name === name &&
      item.field.path.length === 0 &&
      item.cast === null &&
      item.aggregate === null,
  )
}
