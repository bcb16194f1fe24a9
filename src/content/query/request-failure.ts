import pg from 'pg'
import { sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { AppError, type Fault, type PostgrestError } from '../../errors.ts'

/**
 * What a request is to blame for beside data exceptions (class 22) and limits (54): an operator, cast or function that
 * does not go with a type; a view that reads itself; a key that a view does not show; a text search configuration that is not there; a generated column given; one row written twice in one statement; what a trigger of the project raises.
 */
const REFUSED = new Set([
  '0A000',
  '21000',
  '42704',
  '42725',
  '42803',
  '42804',
  '42809',
  '42846',
  '42P10',
  '42P17',
  '42883',
  '428C9',
  'P0001',
])

/** The schema that the plan gives an operator (`operatorSql`), which nobody has asked for. */
const OWN_SCHEMA = /^(operator does not exist: .*)\bpg_catalog\.(?=\S+ )/

/**
 * What PostgreSQL refused in a plan's statement, as a failure of the request where it is one: INVALID_REQUEST for a
 * malformed value, an operator that does not go with a type, and the like. Anything else, among them broken
 * constraints and a stage whose structure is no longer that of the catalog, comes back as it is.
 */
export function toRequestFailure(
  plan: { readonly locate: (value: string) => readonly Fault[] },
  error: unknown,
): unknown {
  const state = sqlState(error)
  const message = sqlMessage(error)
  if (state === undefined || message === undefined) return error
  if (!/^(22|54)/.test(state) && !REFUSED.has(state) && !isAboutValue(error)) return error
  const faults = quotedIn(message).flatMap((value) => plan.locate(value))
  const [only] = faults
  const said = message.replace(OWN_SCHEMA, '$1')
  const located = only && faults.length === 1 ? `${only.detail}: ${said}` : said
  return new AppError('INVALID_REQUEST', located, { faults, cause: error, postgrest: inItsWords(error, said) })
}

/** What PostgreSQL says, which PostgREST says after it. */
function inItsWords(error: unknown, message: string): PostgrestError {
  if (!(error instanceof pg.DatabaseError)) return { message }
  return { message, details: error.detail ?? null, hint: error.hint ?? null }
}

/**
 * Whether a code of syntax or of names is about a value: the types `tsquery`, `tsvector`, `jsonpath`, `regclass` and their
 * like have no others for malformed ones. Were it about our statement, PostgreSQL would say at which position; were it
 * about a statement in a project's function, it would have that.
 */
const isAboutValue = (error: unknown): boolean =>
  error instanceof pg.DatabaseError &&
  /^(3F000|42601|42602|42P01)$/.test(error.code ?? '') &&
  error.internalQuery === undefined &&
  // The position in the name of a type is one in the value.
  (error.position === undefined || error.where?.startsWith('invalid type name') === true)

/** What stands in quotes in a message: each piece, and all from the first quote to the last, as values have quotes too. */
function quotedIn(message: string): readonly string[] {
  const pieces = [...message.matchAll(/"([^"]*)"/g), ...message.matchAll(/"(.*)"/gs)]
  return [...new Set(pieces.map(([, value = '']) => value))]
}
