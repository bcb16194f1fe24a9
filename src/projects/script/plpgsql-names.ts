import type { Grammar } from '../../archive/sql/grammar.ts'
import type { FunctionBody } from './function-body.ts'
import { type BodyTokens, wouldBeHidden } from './hiding-names.ts'
import type { Change, NameMap } from './name-map.ts'
import { holdsObjectNames, mapObjectName, OF_OBJECT_NAMES, quoteString } from './object-names.ts'
import { changeQualifier } from './qualifiers.ts'
import { namesSchema } from './schema-names.ts'
import { isSign, nameOf, wordOf } from './token-names.ts'
import { type Token, tokensOf } from './tokens.ts'

/** At most as many, as in a statement: more would hold up everything else. */
const MAX_TOKENS = 20_000

/**
 * Finds where a body in PL/pgSQL names a schema, token by token: in its statements, its declarations, and in strings that
 * are the name of an object.
 *
 * A body in which anything else may have the schema's name (a variable, an alias, a label) stays as it is, since a point
 * behind that name can mean this as well; so does one in which a name would mean something else without the schema.
 *
 * @returns what to change; and whether the schema is named where nothing can be changed, as in SQL that is a string.
 */
export function plpgsqlNames(
  grammar: Grammar,
  { text, names, isBlock }: FunctionBody,
  map: NameMap,
): { readonly bytes: Buffer; readonly changes: readonly Change[]; readonly leavesSome: boolean } {
  const body = bodyTokens(Buffer.from(text))
  const { bytes, tokens } = body
  if (tokens.length > MAX_TOKENS) return { bytes, changes: [], leavesSome: true }
  const mentions = tokens.flatMap((_token, index) => mentionOf(body, index, map.schema) ?? [])
  const schemas = mentions.filter(({ means }) => means === 'schema').map(({ index }) => index)
  const isUnclear = names.includes(map.schema) || mentions.some(({ means }) => means === 'anything')
  const isHidden = !isBlock && wouldBeHidden(body, schemas, map, names)
  if (schemas.length > 0 && (isUnclear || isHidden)) return { bytes, changes: [], leavesSome: true }
  const strings = tokens.flatMap((token, index) => (isNaming(body, index, map.schema) ? [{ token, index }] : []))
  const changed = strings.map(({ token, index }) => ({ token, text: changeString(body, index, map) }))
  return {
    bytes,
    changes: [
      ...schemas.flatMap((index) => changeQualifier(grammar, { bytes, tokens, index }, map)),
      ...changed.flatMap(({ token: { start, end }, text }) => (text === undefined ? [] : [{ start, end, text }])),
    ],
    leavesSome: changed.some(({ text }) => text === undefined),
  }
}

/** The tokens of a body; `1..n` has a number, two points and a name. */
function bodyTokens(bytes: Buffer): BodyTokens {
  const tokens = tokensOf(bytes).flatMap((token): readonly Token[] => {
    const { kind, start, end } = token
    const range = kind === 'number' ? bytes.subarray(start, end).indexOf('..') : -1
    if (range < 0) return [token]
    const behind = start + range + 2
    return [
      { kind: 'number', start, end: start + range },
      { kind: 'other', start: behind - 2, end: behind - 1 },
      { kind: 'other', start: behind - 1, end: behind },
      ...tokensOf(bytes.subarray(behind, end)).map((each) => ({
        kind: each.kind,
        start: each.start + behind,
        end: each.end + behind,
      })),
    ]
  })
  return { bytes, tokens: tokens.filter(({ kind }) => kind !== 'space' && kind !== 'comment') }
}

interface Mention {
  readonly index: number
  /** What the name of the schema means there. */
  readonly means: 'schema' | 'a table' | 'a column' | 'anything'
}

function mentionOf({ bytes, tokens }: BodyTokens, index: number, schema: string): Mention | undefined {
  if (nameOf(bytes, tokens[index]) !== schema) return undefined
  const isPoint = (at: number): boolean => isSign(bytes, tokens[at], '.')
  if (isPoint(index - 1) && !isPoint(index - 2)) {
    return { index, means: mayBeTable(bytes, tokens, index - 2) ? 'anything' : 'a column' }
  }
  if (!isPoint(index + 1) || isPoint(index + 2) || !tokens[index + 2]) return { index, means: 'anything' }
  const isColumnType = isSign(bytes, tokens[index + 3], '%') && wordOf(bytes, tokens[index + 4]) === 'type'
  return { index, means: isColumnType ? 'a table' : 'schema' }
}

const BEFORE_TABLE: ReadonlySet<unknown> = new Set(['from', 'join', 'into', 'update', 'only', 'table', 'using'])

/** Whether a name that begins at an index, and goes on behind a point, may be that of a table. */
const mayBeTable = (bytes: Buffer, tokens: readonly Token[], index: number): boolean =>
  BEFORE_TABLE.has(wordOf(bytes, tokens[index - 1])) || isSign(bytes, tokens[index - 1], ',')

const LEVELS: ReadonlySet<unknown> = new Set(['raise', 'debug', 'log', 'info', 'notice', 'warning', 'exception'])

/** Whether a token is a string that names the schema, and no message. */
function isNaming({ bytes, tokens }: BodyTokens, index: number, schema: string): boolean {
  const token = tokens[index]
  if (token?.kind !== 'string' || LEVELS.has(wordOf(bytes, tokens[index - 1]))) return false
  return namesSchema(bytes.toString('utf8', token.start, token.end), schema)
}

/** A string that is the name of an object, with another schema; undefined for any other string. */
function changeString({ bytes, tokens }: BodyTokens, index: number, map: NameMap): string | undefined {
  const token = tokens[index]
  const isArgument = tokens[index - 1]?.kind === 'open' && OF_OBJECT_NAMES.has(nameOf(bytes, tokens[index - 2]))
  const isCast =
    isSign(bytes, tokens[index + 1], ':') &&
    isSign(bytes, tokens[index + 2], ':') &&
    holdsObjectNames(nameOf(bytes, tokens[index + 3]) ?? '')
  if (!token || bytes[token.start] !== QUOTE || !(isArgument || isCast)) return undefined
  const text = bytes.toString('utf8', token.start + 1, token.end - 1).replaceAll("''", "'")
  const mapped = mapObjectName(text, map)
  return mapped === text ? undefined : quoteString(mapped)
}

const QUOTE = 0x27
