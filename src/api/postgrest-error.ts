import pg from 'pg'
import type { Problem } from '../contract/problem.ts'
import { isRaised, shownSqlState } from '../database/sqlstate.ts'
import { AppError, type AppErrorOptions, Raised } from '../errors.ts'

/**
 * PostgREST's own codes for what PostgreSQL has none for.
 *
 * @see https://docs.postgrest.org/en/stable/references/errors.html
 */
const CODES: Readonly<Record<string, string>> = {
  AMBIGUOUS_FUNCTION: 'PGRST203',
  AMBIGUOUS_RELATION: 'PGRST201',
  NOT_ACCEPTABLE: 'PGRST107',
  RANGE_NOT_SATISFIABLE: 'PGRST103',
}

type PostgrestError = Pick<Problem, 'message' | 'code' | 'details' | 'hint'>

/** What PostgREST's client libraries read from an error, beside the members of a problem document. */
export function toPostgrestError(failure: unknown, problem: Problem): PostgrestError {
  if (failure instanceof Raised) return { message: failure.message, ...failure.said }
  const raised = failure instanceof AppError ? failure.cause : undefined
  if (raised instanceof pg.DatabaseError && isRaised(raised)) {
    const { message, detail = null, hint = null } = raised
    return { message, code: codeOf(failure), details: detail, hint }
  }
  const details = problem.errors?.map(({ detail }) => detail).join('; ') ?? null
  const own = { message: problem.detail, code: codeOf(failure), details, hint: null }
  return failure instanceof AppError ? { ...own, ...failure.postgrest } : own
}

/** A method that no route of a path has, in PostgREST's words. */
export function refusedMethod(path: string, method: string): Pick<AppErrorOptions, 'postgrestCode' | 'postgrest'> {
  return path.endsWith('/rpc/{function}')
    ? { postgrestCode: 'PGRST101', postgrest: { message: `Cannot use the ${method} method on RPC` } }
    : { postgrestCode: 'PGRST117', postgrest: { message: `Unsupported HTTP method: ${method}` } }
}

function codeOf(failure: unknown): string {
  if (!(failure instanceof AppError)) return 'INTERNAL'
  return failure.postgrestCode ?? shownSqlState(failure.cause) ?? CODES[failure.code] ?? failure.code
}
