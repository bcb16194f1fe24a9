import { invalidRequest } from '../../errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { OPERATORS } from './operators.ts'
import { parseQuery } from './parse-query.ts'
import type { QueryParameters } from './plans.ts'
import { POSTGREST } from './postgrest-codes.ts'

/** A function as it is called, before it is known which one of its name is meant. */
export interface FunctionCall {
  readonly name: string
  readonly parameters: QueryParameters
  /** Of a `POST`; without one, the arguments are among the parameters. */
  readonly body: CallBody | undefined
}

/** A body by what its type makes of it: arguments by name, or one argument as a whole. */
export type CallBody =
  | { readonly kind: 'json' | 'text' | 'xml'; readonly text: string }
  /** The JSON that its lines are. */
  | { readonly kind: 'csv'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'form'; readonly fields: QueryParameters }

/** The arguments of a call. */
export type GivenArguments =
  /** As text, each as often as it was given. */
  | { readonly kind: 'text'; readonly values: ReadonlyMap<string, readonly string[]> }
  /** As keys of an object: of `text`, or of the first element where that is an array. */
  | {
      readonly kind: 'json'
      readonly text: string
      readonly isArray: boolean
      /** Whether it is no argument as a whole: its client has written no JSON. */
      readonly isNamed: boolean
      readonly object: Readonly<Record<string, unknown>>
      /** Those of the object that count. */
      readonly names: readonly string[]
    }
  /** One, without a name. */
  | { readonly kind: 'whole'; readonly type: 'json' | 'text' | 'xml'; readonly text: string }
  | { readonly kind: 'whole'; readonly type: 'bytea'; readonly bytes: Uint8Array }

export interface ReadCall {
  readonly given: GivenArguments
  /** The parameters that are about what is shown of the result. */
  readonly shown: QueryParameters
}

/**
 * Tells the arguments of a call from what is asked of its result.
 *
 * @throws {AppError} INVALID_REQUEST where the body is not what its type says.
 */
export function readCall({ parameters, body }: FunctionCall): ReadCall {
  if (!body) {
    const isArgument = ([name, value]: QueryParameters[number]) => !OF_RESULT.test(name) && !FILTER.test(value)
    return {
      given: { kind: 'text', values: byName(parameters.filter(isArgument)) },
      shown: parameters.filter((each) => !isArgument(each)),
    }
  }
  switch (body.kind) {
    case 'form':
      return { given: { kind: 'text', values: byName(body.fields) }, shown: parameters }
    case 'json':
    case 'csv':
      return { given: readJson(body.text, columnsOf(parameters), body.kind === 'csv'), shown: parameters }
    case 'bytes':
      return { given: { kind: 'whole', type: 'bytea', bytes: body.bytes }, shown: parameters }
    default:
      return { given: { kind: 'whole', type: body.kind, text: body.text }, shown: parameters }
  }
}

/** Names that are no argument's: those of parameters, and paths to embedded relations. */
const OF_RESULT = /^(select|order|limit|offset|columns|on_conflict|(not\.)?(and|or))$|\./

/** A value that is a filter: it begins with an operator. */
const FILTER = new RegExp(`^(not\\.)?(${[...OPERATORS.keys()].join('|')})(\\([^()]*\\))?\\.`)

function byName(fields: QueryParameters): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>()
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value])
  return values
}

/** The names in `columns`: the only keys of the body that count. */
function columnsOf(parameters: QueryParameters): readonly string[] | undefined {
  const list = parameters.filter(([name]) => name === 'columns')
  return parseQuery(list).columns?.names.map(({ name }) => name)
}

function readJson(given: string, columns: readonly string[] | undefined, isNamed: boolean): GivenArguments {
  const text = given.trim() === '' ? '{}' : given
  const parsed = parseJson(text)
  if (parsed === undefined) throw invalidRequest('the body is not valid JSON', [], POSTGREST.malformedBody)
  const isArray = Array.isArray(parsed)
  const first: unknown = isArray ? (parsed[0] ?? {}) : parsed
  if (!isObject(first)) return { kind: 'whole', type: 'json', text }
  return { kind: 'json', text, isArray, isNamed, object: first, names: columns ?? Object.keys(first) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
