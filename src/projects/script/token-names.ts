import { foldCase } from './parse-statement.ts'
import type { Token } from './tokens.ts'

/** The name that a word, or a name in quotes, is; undefined for any other token. */
export function nameOf(bytes: Buffer, token: Token | undefined): string | undefined {
  if (token?.kind === 'word') return foldCase(bytes.toString('utf8', token.start, token.end))
  return token?.kind === 'name'
    ? bytes.toString('utf8', token.start + 1, token.end - 1).replaceAll('""', '"')
    : undefined
}

/** The name, or the operator, that begins with a token. */
export function nameAt(bytes: Buffer, tokens: readonly Token[], index: number): string {
  const first = tokens[index]
  if (first?.kind !== 'other') return nameOf(bytes, first) ?? ''
  let last = index
  while (tokens[last + 1]?.kind === 'other') last += 1
  return bytes.toString('latin1', first.start, tokens[last]?.end)
}

/** A word that is not in quotes; undefined for any other token. */
export const wordOf = (bytes: Buffer, token: Token | undefined): string | undefined =>
  token?.kind === 'word' ? nameOf(bytes, token) : undefined

/** Whether a token is a sign. */
export const isSign = (bytes: Buffer, token: Token | undefined, sign: string): boolean =>
  token !== undefined && token.end - token.start === 1 && bytes[token.start] === sign.charCodeAt(0)
