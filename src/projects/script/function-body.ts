import { asList, asTree, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { type Nodes, type ParsedStatement, textsOf } from './parse-statement.ts'
import type { Token } from './tokens.ts'

/** The body of a function, or of a DO block, that is a string. */
export interface FunctionBody {
  readonly language: string
  readonly text: string
  readonly token: Token
  /** Whether it is run once, where it stands. */
  readonly isBlock: boolean
  readonly isImmutable: boolean
  /** Where its statement says AS, if it does. */
  readonly asAt: number
  /** Its name, and the names of its arguments: what stands before a point in the body can be one of them. */
  readonly names: readonly unknown[]
  /** Writes another body in the same quotes, or in others where these don't fit. */
  quote(text: string): string
}

/** Finds the body of the function that a statement makes, or of the block that it runs, where that is a string. */
export function bodyOf({ bytes, tokens }: ParsedStatement, nodes: Nodes): FunctionBody | undefined {
  const found = nodes.find(({ name }) => name === 'CreateFunctionStmt' || name === 'DoStmt')
  if (!found) return undefined
  const { name, node } = found
  const isBlock = name === 'DoStmt'
  const options = asList(isBlock ? node.args : node.options).map((each) => treeAt(asTree(each), 'DefElem'))
  const option = (wanted: string): Tree => options.find(({ defname }) => defname === wanted) ?? {}
  const as = option('as')
  const texts = isBlock ? [treeAt(as, 'arg', 'String').sval] : textsOf(treeAt(as, 'arg', 'List').items)
  const [text] = texts
  const asAt = Number(as.location ?? -1)
  const index = tokens.findIndex(({ start }) => start === asAt)
  const token = tokens[isBlock ? index : index + 1]
  if (typeof text !== 'string' || texts.length !== 1 || index < 0 || token?.kind !== 'string') return undefined
  const given = treeAt(option('language'), 'arg', 'String').sval ?? (isBlock ? 'plpgsql' : '')
  return {
    language: String(given).toLowerCase(),
    text,
    token,
    isBlock,
    isImmutable: treeAt(option('volatility'), 'arg', 'String').sval === 'immutable',
    asAt,
    names: [
      textsOf(node.funcname).at(-1),
      ...asList(node.parameters).map((parameter) => treeAt(asTree(parameter), 'FunctionParameter').name),
    ],
    quote: quoterLike(bytes.toString('utf8', token.start, token.end)),
  }
}

/** @param written a string as it stands in the statement. */
function quoterLike(written: string): (text: string) => string {
  const [tag] = /^\$[^$]*\$/.exec(written) ?? []
  return (text) => {
    if (tag !== undefined && !text.includes(tag)) return `${tag}${text}${tag}`
    let own = '$body$'
    while (text.includes(own)) own = own.replace('$body', '$body_')
    return `${own}${text}${own}`
  }
}
