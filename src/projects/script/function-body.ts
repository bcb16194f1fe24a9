import { asList, asTree, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { type Nodes, type ParsedStatement, textsOf } from './parse-statement.ts'
import type { Token } from './tokens.ts'

/** The body of a function that is a string. */
export interface FunctionBody {
  readonly language: string
  readonly text: string
  readonly token: Token
  /** Writes another body in the same quotes, or in others where these don't fit. */
  quote(text: string): string
}

/** Finds the body of the function that a statement makes, where that is a string. */
export function bodyOf({ bytes, tokens }: ParsedStatement, nodes: Nodes): FunctionBody | undefined {
  const options = nodes.flatMap(({ name, node }) => (name === 'CreateFunctionStmt' ? asList(node.options) : []))
  const option = (wanted: string): Tree | undefined =>
    options.map((each) => treeAt(asTree(each), 'DefElem')).find(({ defname }) => defname === wanted)
  const [as, language] = [option('as'), option('language')]
  const texts = textsOf(treeAt(as ?? {}, 'arg', 'List').items)
  const [text] = texts
  const index = tokens.findIndex(({ start }) => start === (as?.location ?? -1))
  const token = tokens[index + 1]
  if (typeof text !== 'string' || texts.length !== 1 || index < 0 || token?.kind !== 'string') return undefined
  const written = bytes.toString('utf8', token.start, token.end)
  const [tag] = /^\$[^$]*\$/.exec(written) ?? []
  const quote = (mapped: string): string => {
    if (tag !== undefined && !mapped.includes(tag)) return `${tag}${mapped}${tag}`
    let own = '$body$'
    while (mapped.includes(own)) own = own.replace('$body', '$body_')
    return `${own}${mapped}${own}`
  }
  return { language: String(treeAt(language ?? {}, 'arg', 'String').sval ?? '').toLowerCase(), text, token, quote }
}
