import { asList, asTree, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { isObjectNameType } from '../../database/object-name-types.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import type { Change, NameMap } from './name-map.ts'
import { foldCase, type Nodes, type ParsedStatement, textsOf } from './parse-statement.ts'

/** Whether the values of a type are names of objects, or arrays of them. @param type as a script writes it. */
export const holdsObjectNames = (type: string): boolean => isObjectNameType(type.replace(/^_/, ''))

/** Functions whose first argument is the name of a sequence or a table. */
export const OF_OBJECT_NAMES: ReadonlySet<unknown> = new Set(['nextval', 'currval', 'setval', 'pg_get_serial_sequence'])

/** Functions whose first argument is the name of a dictionary or a configuration, where they have another one. */
const OF_TEXT_SEARCH: ReadonlySet<unknown> = new Set([
  ...(['unaccent', 'ts_lexize', 'ts_headline', 'to_tsvector', 'to_tsquery'] as const),
  ...(['plainto_tsquery', 'phraseto_tsquery', 'websearch_to_tsquery'] as const),
])

/** Strings that name an object, and the schemas of search paths. */
export function objectNames({ tokens }: ParsedStatement, nodes: Nodes, map: NameMap): readonly Change[] {
  const { schema, to } = map
  const tokenAt = new Map(tokens.map((token) => [token.start, token]))
  const changes = new Map<number, Change>()
  const add = (constant: Tree, change: (text: string) => string | undefined): void => {
    const token = tokenAt.get(Number(constant.location ?? 0))
    const { sval } = asTree(constant.sval)
    if (!token || typeof sval !== 'string') return
    const text = change(sval)
    if (text !== undefined) changes.set(token.start, { start: token.start, end: token.end, text })
  }
  const changeName = (text: string): string | undefined => {
    const mapped = mapObjectName(text, map)
    return mapped === text ? undefined : quoteString(mapped)
  }
  for (const { name, node } of nodes) {
    if (name === 'TypeCast' && holdsObjectNames(String(textsOf(treeAt(node, 'typeName').names).at(-1)))) {
      add(constantOf(node.arg), changeName)
    }
    if (name === 'FuncCall') {
      const [called, [argument, another]] = [textsOf(node.funcname).at(-1), asList(node.args)]
      const isName = OF_OBJECT_NAMES.has(called) || (another !== undefined && OF_TEXT_SEARCH.has(called))
      if (isName) add(constantOf(argument), changeName)
    }
    if (name === 'VariableSetStmt' && node.name === 'search_path' && to !== undefined) {
      for (const argument of asList(node.args)) {
        add(constantOf(argument), (text) => (text === schema ? quoteIdentifier(to) : undefined))
      }
    }
  }
  return [...changes.values()]
}

/** A constant behind any number of casts. */
function constantOf(value: unknown): Tree {
  let tree = asTree(value)
  while (tree.TypeCast !== undefined) tree = asTree(treeAt(tree, 'TypeCast').arg)
  return treeAt(tree, 'A_Const')
}

export const quoteString = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Names at the beginning, and behind brackets and commas: those of the arguments of a function. */
export function mapObjectName(text: string, { schema, to, extensionNames }: NameMap): string {
  return text.replace(NAME, (whole, before: string, written: string, next: string) => {
    if (nameOf(written) !== schema) return whole
    const target = extensionNames?.get(nameOf(next)) ?? to
    return `${before}${target === undefined ? '' : `${quoteIdentifier(target)}.`}${next}`
  })
}

const NAME = /((?:^|[(,])\s*)("(?:[^"]|"")*"|[^\s".,()[\]]+)\s*\.\s*("(?:[^"]|"")*"|[^\s".,()[\]]+)/g

const nameOf = (written: string): string =>
  written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : foldCase(written)
