import { asList, asTree, type Grammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import type { Change, NameMap } from './name-map.ts'
import { foldCase, type Nodes, nodesOf, type ParsedStatement, textsOf } from './parse-statement.ts'
import { isSign, nameAt, nameOf } from './token-names.ts'
import type { Token } from './tokens.ts'

/** Names of the schema with a point behind, but for those that the grammar has as something else. */
export function qualifiers(
  grammar: Grammar,
  { bytes, tokens }: ParsedStatement,
  nodes: Nodes,
  map: NameMap,
): readonly Change[] {
  const others = positionsOfOthers(nodes, map.schema)
  return tokens.flatMap((token, index): Change[] => {
    const [point, next] = [tokens[index + 1], tokens[index + 2]]
    if (nameOf(bytes, token) !== map.schema || !isSign(bytes, point, '.') || !next) return []
    if (isSign(bytes, tokens[index - 1], '.') || others.at.has(token.start)) return []
    if (others.isOwner(token, tokens, bytes)) return []
    return changeQualifier(
      grammar,
      { bytes, tokens, index },
      isMade(bytes, tokens, index) ? withoutExtensions(map) : map,
    )
  })
}

const withoutExtensions = ({ schema, to }: NameMap): NameMap => ({ schema, to })

/** Where a schema stands before a point and a name. */
export interface QualifierSite {
  readonly bytes: Buffer
  readonly tokens: readonly Token[]
  /** Of the schema. */
  readonly index: number
}

/** Gives a name the schema that it has now, or takes its schema away. */
export function changeQualifier(
  grammar: Grammar,
  { bytes, tokens, index }: QualifierSite,
  { to, extensionNames }: NameMap,
): Change[] {
  const [token, next] = [tokens[index], tokens[index + 2]]
  if (!token || !next) return []
  const target = extensionNames?.get(nameAt(bytes, tokens, index + 2)) ?? to
  if (target !== undefined) return [{ start: token.start, end: token.end, text: quoteIdentifier(target) }]
  const needsQuotes = next.kind === 'word' && !isPlainName(grammar, bytes.toString('utf8', next.start, next.end))
  const text = needsQuotes ? quoteIdentifier(nameOf(bytes, next) ?? '') : ''
  return [{ start: token.start, end: needsQuotes ? next.end : next.start, text }]
}

/** Whether a name is that of what a statement makes: `CREATE FUNCTION public.f`. */
function isMade(bytes: Buffer, tokens: readonly Token[], index: number): boolean {
  const [first] = tokens
  if (!first || index > MAX_WORDS_BEFORE_NAME || nameOf(bytes, first) !== 'create') return false
  return tokens.slice(0, index).every(({ kind }) => kind === 'word')
}

/** `CREATE OR REPLACE TEMPORARY RECURSIVE VIEW name` has five. */
const MAX_WORDS_BEFORE_NAME = 8

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

/** Whether a word means a name wherever one can stand without its schema. */
function isPlainName(grammar: Grammar, word: string): boolean {
  const isKnown = plainNames.get(word)
  if (isKnown !== undefined) return isKnown
  const isPlain = findPlain(grammar, word)
  if (plainNames.size < MAX_PLAIN_NAMES && word.length <= MAX_NAME_CHARS) plainNames.set(word, isPlain)
  return isPlain
}

/** A body has the same names many times, and each is parsed three times. */
const plainNames = new Map<string, boolean>()
const MAX_PLAIN_NAMES = 10_000
/** PostgreSQL cuts longer names off; anybody's would be kept here for good. */
const MAX_NAME_CHARS = 63

function findPlain(grammar: Grammar, word: string): boolean {
  if (PLPGSQL_WORDS.has(foldCase(word))) return false
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

/** Words that PL/pgSQL reserves, and SQL does not. */
const PLPGSQL_WORDS: ReadonlySet<string> = new Set([
  'begin',
  'by',
  'declare',
  'execute',
  'foreach',
  'if',
  'loop',
  'while',
])
