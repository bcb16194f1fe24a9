import { asList, asTree, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { stagePath } from '../stage-path.ts'
import type { FunctionBody } from './function-body.ts'
import type { Change, NameMap } from './name-map.ts'
import type { Nodes, ParsedStatement } from './parse-statement.ts'

/**
 * Has the stage searched by a function whose body lost the schema before its names, where it would not be: the function
 * sets a search path without that schema (`SET search_path TO ''`), or it may be called where PostgreSQL sets one itself.
 * It does so while it makes indexes and refreshes materialized views, from version 17, and in autovacuum in every
 * version; what an index calls is immutable.
 */
export function bodyPath(
  { tokens }: ParsedStatement,
  nodes: Nodes,
  { isImmutable, asAt }: FunctionBody,
  { schema, to }: NameMap,
): readonly Change[] {
  const settings = nodes.filter(({ name, node }) => name === 'VariableSetStmt' && node.name === 'search_path')
  if (to !== undefined && settings.length === 0 && isImmutable) {
    return [{ start: asAt, end: asAt, text: `SET search_path TO ${stagePath(to)} ` }]
  }
  const schemas = settings.flatMap(({ node }) => asList(node.args).map(constantOf))
  const isTemporary = ({ text }: Constant): boolean => text === 'pg_temp'
  const last = schemas.findLast((each) => !isTemporary(each)) ?? schemas[0]
  const token = tokens.find(({ start }) => start === last?.location)
  if (to === undefined || !last || !token || schemas.some(({ text }) => text === schema)) return []
  const { start, end } = token
  if (last.text === '') return [{ start, end, text: quoteIdentifier(to) }]
  return isTemporary(last)
    ? [{ start, end: start, text: `${quoteIdentifier(to)}, ` }]
    : [{ start: end, end, text: `, ${quoteIdentifier(to)}` }]
}

interface Constant {
  readonly text: unknown
  readonly location: unknown
}

function constantOf(argument: unknown): Constant {
  const { sval, location = 0 }: Tree = treeAt(asTree(argument), 'A_Const')
  return { text: asTree(sval).sval ?? '', location }
}
