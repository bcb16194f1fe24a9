import { asList, asTree, type Grammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import type { Change, NameMap } from './name-map.ts'
import { foldCase, type Nodes, nodesOf, type ParsedStatement, textsOf } from './parse-statement.ts'
import type { Token } from './tokens.ts'

/** Names of the schema with a point behind, but for those that the grammar has as something else. */
export function qualifiers(
  grammar: Grammar,
  { bytes, tokens }: ParsedStatement,
  nodes: Nodes,
  { schema, to, extensionNames }: NameMap,
): readonly Change[] {
  const others = positionsOfOthers(nodes, schema)
  return tokens.flatMap((token, index): Change[] => {
    const [point, next] = [tokens[index + 1], tokens[index + 2]]
    if (nameOf(bytes, token) !== schema || !point || bytes[point.start] !== POINT || !next) return []
    const before = tokens[index - 1]
    if ((before && bytes[before.start] === POINT) || others.at.has(token.start) || others.isOwner(token, tokens, bytes))
      return []
    const extensionSchema = isMade(bytes, tokens, index)
      ? undefined
      : extensionNames?.get(nameAt(bytes, tokens, index + 2))
    const target = extensionSchema ?? to
    if (target !== undefined) return [{ start: token.start, end: token.end, text: quoteIdentifier(target) }]
    const needsQuotes = next.kind === 'word' && !isPlainName(grammar, bytes.toString('utf8', next.start, next.end))
    const text = needsQuotes ? quoteIdentifier(nameOf(bytes, next) ?? '') : ''
    return [{ start: token.start, end: needsQuotes ? next.end : next.start, text }]
  })
}

const POINT = 0x2e

/** Whether a name is that of what a statement makes: `CREATE FUNCTION public.f`. */
function isMade(bytes: Buffer, tokens: readonly Token[], index: number): boolean {
  const [first] = tokens
  if (!first || index > MAX_WORDS_BEFORE_NAME || nameOf(bytes, first) !== 'create') return false
  return tokens.slice(0, index).every(({ kind }) => kind === 'word')
}

/** `CREATE OR REPLACE TEMPORARY RECURSIVE VIEW name` has five. */
const MAX_WORDS_BEFORE_NAME = 8

/** The name, or the operator, that begins with a token. */
function nameAt(bytes: Buffer, tokens: readonly Token[], index: number): string {
  const first = tokens[index]
  if (first?.kind !== 'other') return first ? (nameOf(bytes, first) ?? '') : ''
  let last = index
  while (tokens[last + 1]?.kind === 'other') last += 1
  return bytes.toString('latin1', first.start, tokens[last]?.end)
}

/** Where a table, a column or a setting has the name of the schema and a point behind it. */
function positionsOfOthers(nodes: Nodes, schema: string) {
  const at = new Set<unknown>()
  /** Whether the table of `OWNED BY table.column`, or `COMMENT ON COLUMN table.column`, has that name. */
  let ownsColumn = false
  for (const { name, node } of nodes) {
    const { location = 0 } = node
    if (name === 'ColumnRef' && asList(node.fields).length === 2) at.add(location)
    if (name === 'ResTarget' && node.name === schema && asList(node.indirection).length > 0) at.add(location)
    if (node.pct_type === true && asList(node.names).length === 2) at.add(location)
    const column =
      name === 'CommentStmt' && node.objtype === 'OBJECT_COLUMN' ? treeAt(node, 'object', 'List') : undefined
    const owner = name === 'DefElem' && node.defname === 'owned_by' ? treeAt(node, 'arg', 'List') : undefined
    if (asList((column ?? owner)?.items).length === 2) ownsColumn = true
  }
  return {
    at,
    isOwner: (token: Token, tokens: readonly Token[], bytes: Buffer): boolean => {
      if (!ownsColumn) return false
      const before = tokens[tokens.indexOf(token) - 1]
      const word = before ? bytes.toString('latin1', before.start, before.end).toLowerCase() : ''
      return word === 'by' || word === 'column'
    },
  }
}

/** The name that a word, or a name in quotes, is; undefined for any other token. */
function nameOf(bytes: Buffer, { kind, start, end }: Token): string | undefined {
  if (kind === 'word') return foldCase(bytes.toString('utf8', start, end))
  return kind === 'name' ? bytes.toString('utf8', start + 1, end - 1).replaceAll('""', '"') : undefined
}

/** Whether a word means a name wherever one can stand without its schema. */
function isPlainName(grammar: Grammar, word: string): boolean {
  const [table] = grammar.parse(`SELECT FROM ${word}`) ?? []
  const [call] = grammar.parse(`SELECT ${word}()`) ?? []
  const [type] = grammar.parse(`SELECT NULL::${word}`) ?? []
  if (!table || !call || !type) return false
  const { relname } = treeAt(asTree(asList(treeAt(table, 'SelectStmt').fromClause)[0]), 'RangeVar')
  const names = (tree: Tree) =>
    [...nodesOf([tree])].flatMap(({ name, node }) =>
      name === 'FuncCall' || name === 'typeName' ? [textsOf(node.funcname ?? node.names)] : [],
    )
  const name = foldCase(word)
  return relname === name && [...names(call), ...names(type)].every((texts) => texts.join('.') === name)
}
