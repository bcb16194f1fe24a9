import { asList, asTree, type Grammar, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { type Token, tokensOf } from './tokens.ts'

/** A statement, taken apart. Positions are those of bytes in it. */
export interface ParsedStatement {
  readonly bytes: Buffer
  /** Without spaces and comments. */
  readonly tokens: readonly Token[]
  /** As PostgreSQL's grammar has it; undefined where it is not this grammar's, or too long for it. */
  readonly trees: readonly Tree[] | undefined
}

/** At most as many tokens: to parse more would hold up everything else for longer than some 60 ms. */
const MAX_TOKENS = 20_000

/** At most as many brackets, one inside the other: the parser calls itself for each. */
const MAX_BRACKETS = 500

/**
 * Parses SQL of anybody's.
 *
 * Comments are blanked before: PostgreSQL's scanner needs hours for some that are inside each other.
 */
export function parseStatement(grammar: Grammar, text: string | Buffer): ParsedStatement {
  const bytes = Buffer.from(text)
  const all = tokensOf(bytes)
  const tokens = all.filter(({ kind }) => kind !== 'space' && kind !== 'comment')
  const isUnfinished = tokens.some(({ kind }) => kind === 'unfinished')
  if (isUnfinished || tokens.length > MAX_TOKENS || deepestBracket(tokens) > MAX_BRACKETS) {
    return { bytes, tokens, trees: undefined }
  }
  const blanked = Buffer.from(bytes)
  for (const { kind, start, end } of all) if (kind === 'comment') blanked.fill(' ', start, end)
  return { bytes, tokens, trees: grammar.parse(blanked.toString()) }
}

function deepestBracket(tokens: readonly Token[]): number {
  let [depth, deepest] = [0, 0]
  for (const { kind } of tokens) {
    if (kind === 'open') depth += 1
    if (kind === 'close') depth -= 1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

export type Nodes = readonly { readonly name: string; readonly node: Tree }[]

/** Every node of some trees with its name, in no order. Not by recursion: a tree may be deeper than the stack. */
export function* nodesOf(trees: readonly Tree[]): Generator<{ readonly name: string; readonly node: Tree }> {
  const pending: unknown[] = [...trees]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner !== 'object' || inner === null) continue
      if (!Array.isArray(inner)) yield { name, node: inner as Tree }
      pending.push(inner)
    }
  }
}

/** The texts of a list of strings. */
export const textsOf = (list: unknown): readonly unknown[] =>
  asList(list).map((item) => treeAt(asTree(item), 'String').sval)

/** A name as PostgreSQL reads it that is not in quotes. */
export const foldCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
