import { LIMITS } from './limits.ts'
import { IS_VALUES, OPERATORS, type Operator } from './operators.ts'
import { type Field, parseField } from './parse-field.ts'
import { POSTGREST } from './postgrest-codes.ts'
import type { Reader } from './reader.ts'
import { suggest } from './suggest.ts'

/** A column compared with something. */
export interface Filter {
  readonly kind: 'filter'
  readonly field: Field
  readonly negated: boolean
  readonly operator: Operator
  readonly quantifier: 'any' | 'all' | null
  /** The text search configuration. */
  readonly config: string | null
  /** Several for `in`. */
  readonly values: readonly string[]
  /** For error messages: the text in which the column stands. */
  readonly reader: Reader
  /** For error messages: the parameter in which the value stands. */
  readonly source: string
}

/** Filters that have to hold all, or of which one has to. */
export interface Logic {
  readonly kind: 'and' | 'or'
  readonly negated: boolean
  readonly conditions: readonly Condition[]
}

export type Condition = Filter | Logic

/** Reads the value of a parameter that is named for its column: `not.like(any).{a*,b*}`. */
export function parseFilter(field: Field, name: Reader, value: Reader): Filter {
  return { ...parseOperation(field, value, parseWholeValue), reader: name }
}

/**
 * Reads the value of a parameter `and` or `or`: `(year.gte.1990,not.or(a.is.null,b.in.(1,2)))`. Parentheses that close what
 * nothing has opened are passed over, as PostgREST does.
 */
export function parseLogic(kind: Logic['kind'], negated: boolean, reader: Reader): Logic {
  const logic: Logic = { kind, negated, conditions: parseConditions(reader, 1) }
  reader.match(/[\s)]*/y)
  reader.expectEnd()
  return logic
}

function parseConditions(reader: Reader, depth: number): readonly Condition[] {
  if (depth > LIMITS.logicDepth) throw reader.refused(`conditions are at most ${LIMITS.logicDepth} deep`)
  reader.skipSpace()
  reader.expect('(')
  const conditions: Condition[] = []
  do {
    reader.skipSpace()
    const logic = reader.match(/(not\.)?(and|or)(?=\s*\()/y)
    if (logic) {
      const kind = logic[2] === 'and' ? 'and' : 'or'
      conditions.push({ kind, negated: logic[1] !== undefined, conditions: parseConditions(reader, depth + 1) })
    } else {
      const negatedBefore = reader.take('not.')
      const field = parseField(reader)
      reader.expect('.')
      const filter = parseOperation(field, reader, parseInnerValue)
      conditions.push(negatedBefore ? { ...filter, negated: !filter.negated } : filter)
    }
    reader.skipSpace()
  } while (reader.take(','))
  if (!reader.take(')')) throw reader.malformed('"," or ")"')
  return conditions
}

function parseOperation(field: Field, reader: Reader, parseValue: (reader: Reader) => string): Filter {
  const negated = reader.take('not.')
  const { position } = reader
  const word = reader.match(/[a-z]+/y)?.[0]
  const operator = OPERATORS.get(word ?? '')
  if (word === undefined) throw reader.malformed('an operator like "eq."', position)
  if (!operator) {
    const problem = `there is no operator "${word}"${suggest(word, OPERATORS.keys())}`
    throw reader.refused(problem, position, POSTGREST.malformedQuery)
  }
  const { quantifier, config } = parseArgument(reader, operator)
  reader.expect('.')
  const values =
    operator.family === 'list'
      ? parseList(reader, parseValue === parseWholeValue)
      : [operator.family === 'is' ? parseIs(reader) : parseValue(reader)]
  return { kind: 'filter', field, negated, operator, quantifier, config, values, reader, source: reader.source }
}

/** `(any)`, `(all)`, or the name of a text search configuration. */
function parseArgument(reader: Reader, operator: Operator): Pick<Filter, 'quantifier' | 'config'> {
  const { position } = reader
  if (!reader.take('(')) return { quantifier: null, config: null }
  const word = reader.name('a word')
  reader.expect(')')
  if (operator.family === 'search') return { quantifier: null, config: word }
  if (operator.quantified && (word === 'any' || word === 'all')) return { quantifier: word, config: null }
  throw reader.malformed(operator.quantified ? '"(any)", "(all)" or "."' : '"."', position)
}

const parseWholeValue = (reader: Reader): string => reader.rest()

/** A value among others: quoted, an array in braces, or up to a comma or parenthesis. */
function parseInnerValue(reader: Reader): string {
  const quoted = reader.match(/"((?:[^"\\]|\\.)*)"(?=$|[,)])/sy)
  if (quoted) return (quoted[1] ?? '').replaceAll(/\\(.)/gs, '$1')
  const array = reader.match(/\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\}/y)
  return array?.[0] ?? reader.match(/[^,)]*/y)?.[0] ?? ''
}

function parseIs(reader: Reader): string {
  const { position } = reader
  const word = reader.match(/\w+/y)?.[0].toLowerCase() ?? ''
  if (IS_VALUES.has(word)) return word
  throw reader.malformed('"null", "not_null", "true", "false" or "unknown"', position)
}

function parseList(reader: Reader, whole: boolean): readonly string[] {
  reader.expect('(')
  reader.skipSpace()
  const values: string[] = []
  if (!reader.take(')')) {
    do values.push(parseInnerValue(reader))
    while (reader.take(','))
    if (!reader.take(')')) throw reader.malformed('"," or ")"')
  }
  reader.skipSpace()
  if (whole) reader.expectEnd()
  return values
}
