import type { NameMap } from './name-map.ts'
import { isSign, nameAt, nameOf, wordOf } from './token-names.ts'
import type { Token } from './tokens.ts'

/** A body, and its tokens without spaces and comments. */
export interface BodyTokens {
  readonly bytes: Buffer
  readonly tokens: readonly Token[]
}

/**
 * Whether a name of a body would mean something else without its schema: what a WITH of the body calls so, a temporary table
 * that it makes, a variable, or a type, a function or an operator of PostgreSQL's own.
 *
 * @param indexes where the schema stands that is taken away. @param variables those that the body does not declare itself.
 */
export function wouldBeHidden(
  { bytes, tokens }: BodyTokens,
  indexes: readonly number[],
  { extensionNames, builtInNames }: NameMap,
  variables: readonly unknown[] = [],
): boolean {
  const tables = tablesOf(bytes, tokens)
  const own = new Set([...variables, ...variablesOf(bytes, tokens)])
  return indexes.some((index) => {
    const name = nameAt(bytes, tokens, index + 2)
    if (extensionNames?.has(name)) return false
    if (isSign(bytes, tokens[index + 3], '.') && own.has(name)) return true
    const isCall = tokens[index + 3]?.kind === 'open' && wordOf(bytes, tokens[index - 1]) !== 'into'
    if (isCall) return builtInNames?.functions.has(name) === true
    return tables.has(name) || builtInNames?.others.has(name) === true
  })
}

const OF_TEMPORARY: ReadonlySet<unknown> = new Set(['temp', 'temporary'])
const BEFORE_TEMPORARY: ReadonlySet<unknown> = new Set([
  'table',
  'view',
  'sequence',
  'recursive',
  'if',
  'not',
  'exists',
])

const BEFORE_QUERY: ReadonlySet<unknown> = new Set(['materialized', 'not'])

/** The names that WITH gives, and those of temporary tables. */
function tablesOf(bytes: Buffer, tokens: readonly Token[]): ReadonlySet<string> {
  const names = new Set<string>()
  const closes = closingBrackets(tokens)
  tokens.forEach((token, index) => {
    if (OF_TEMPORARY.has(wordOf(bytes, token))) {
      let at = index + 1
      while (BEFORE_TEMPORARY.has(wordOf(bytes, tokens[at]))) at += 1
      names.add(nameOf(bytes, tokens[at]) ?? '')
    }
    const before = tokens[index - 1]
    const word = wordOf(bytes, before)
    const mayBeOfWith = word === 'with' || word === 'recursive' || isSign(bytes, before, ',')
    if (!mayBeOfWith || nameOf(bytes, token) === undefined) return
    const behind = (closes.get(index + 1) ?? index) + 1
    const isQuery = tokens[behind + 1]?.kind === 'open' || BEFORE_QUERY.has(wordOf(bytes, tokens[behind + 1]))
    if (wordOf(bytes, tokens[behind]) === 'as' && isQuery) names.add(nameOf(bytes, token) ?? '')
  })
  return names
}

/** By the index of each bracket that is closed, the index of the one that closes it. */
function closingBrackets(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const closes = new Map<number, number>()
  const open: number[] = []
  for (const [index, { kind }] of tokens.entries()) {
    if (kind === 'open') open.push(index)
    const opening = kind === 'close' ? open.pop() : undefined
    if (opening !== undefined) closes.set(opening, index)
  }
  return closes
}

const BEFORE_VARIABLE: ReadonlySet<unknown> = new Set(['declare', 'for', 'foreach'])

/** The names that PL/pgSQL can declare, or assign to: those at the beginning of a statement, and behind FOR. */
function variablesOf(bytes: Buffer, tokens: readonly Token[]): readonly (string | undefined)[] {
  return tokens
    .filter((_token, index) => {
      const before = tokens[index - 1]
      return before?.kind === 'semicolon' || isSign(bytes, before, '>') || BEFORE_VARIABLE.has(wordOf(bytes, before))
    })
    .map((token) => nameOf(bytes, token))
}
