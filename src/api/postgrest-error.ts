import type { Problem } from '../contract/problem.ts'
import { shownSqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'

/**
 * PostgREST's own codes for what PostgreSQL has none for.
 *
 * @see https://docs.postgrest.org/en/stable/references/errors.html
 */
const CODES: Readonly<Record<string, string>> = {
  NOT_ACCEPTABLE: 'PGRST116',
  RANGE_NOT_SATISFIABLE: 'PGRST103',
}

type PostgrestError = Pick<Problem, 'message' | 'code' | 'details' | 'hint'>

/** What PostgREST's client libraries read from an error, beside the members of a problem document. */
export function toPostgrestError(failure: unknown, problem: Problem): PostgrestError {
  const details = problem.errors?.map(({ detail }) => detail).join('; ') ?? null
  return { message: problem.detail, code: codeOf(failure), details, hint: null }
}

function codeOf(failure: unknown): string {
  if (!(failure instanceof AppError)) return 'INTERNAL'
  return shownSqlState(failure.cause) ?? CODES[failure.code] ?? failure.code
}
