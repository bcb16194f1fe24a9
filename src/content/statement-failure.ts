import pg from 'pg'
import { databaseFailure, isServerFailure } from '../database/sqlstate-meanings.ts'
import { AppError, isAppError } from '../errors.ts'
import { hiddenRowsFailure } from './hidden-rows.ts'
import { missingRightFailure } from './missing-right.ts'
import { toRequestFailure } from './query/index.ts'
import { raisedFailure } from './raised-failure.ts'

/**
 * What PostgreSQL refused in a plan's statement, as a failure of the request where it is one; anything else comes back
 * as it is. PostgreSQL's own failure is the cause, and its code there for those who go by it.
 *
 * @param options.saysKeys whether the values of a key may be said that is there already, or is referred to.
 */
export function statementFailure(
  plan: Parameters<typeof toRequestFailure>[0],
  error: unknown,
  { saysKeys = false } = {},
): unknown {
  const known =
    raisedFailure(error) ??
    constraintFailure(error, saysKeys) ??
    (isServerFailure(error) ? error : databaseFailure(error))
  if (known) return known
  const failure = toRequestFailure(plan, error)
  if (failure === error && error instanceof pg.DatabaseError && isOfProject(error)) {
    return new AppError('INVALID_REQUEST', `a function of the project fails: ${error.message}`, { cause: error })
  }
  const denied = hiddenRowsFailure(error) ?? missingRightFailure(error)
  if (denied) return denied
  if (failure === error || !isAppError(failure)) return failure
  const { code, message, faults, postgrest } = failure
  return new AppError(code, message, { faults, cause: error, postgrest })
}

/** Whether it came up in the body of a function or trigger that is not Wharf's own: the innermost stands first. */
function isOfProject({ where = '' }: pg.DatabaseError): boolean {
  // In quotes, it is a name with a point.
  const innermost = /^(?:PL\/pgSQL|SQL) function (.*)/m.exec(where)?.[1]
  return innermost !== undefined && !innermost.startsWith('wharf.')
}

/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html, class 23 */
const KINDS: Readonly<Record<string, { readonly conflict: boolean; readonly what: string }>> = {
  '23505': { conflict: true, what: 'there is a row with the same key already' },
  '23503': { conflict: true, what: 'a row that is referred to is not there, or is still referred to' },
  '23P01': { conflict: true, what: 'there is a row that excludes this one' },
  '23514': { conflict: false, what: 'a row breaks a check' },
  '23502': { conflict: false, what: 'a value that must not be missing is missing' },
}

/**
 * What a write broke, by the names of table and constraint, and not by the rows' values; of a key, PostgREST's clients are told these
 * where that may be.
 *
 * @returns undefined where the failure is another one.
 * @see https://www.postgresql.org/docs/current/protocol-error-fields.html
 */
function constraintFailure(error: unknown, saysKeys: boolean): AppError | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  const kind = KINDS[error.code ?? '']
  if (!kind) return undefined
  const parts = [
    error.table && `table "${error.table}"`,
    error.column && `column "${error.column}"`,
    error.constraint && `constraint "${error.constraint}"`,
  ]
  const named = parts.filter(Boolean).join(', ')
  const detail = named === '' ? kind.what : `${named}: ${kind.what}`
  // Of a check, PostgreSQL's details are the whole row.
  const details = kind.conflict && saysKeys ? error.detail : undefined
  const postgrest = { message: error.message, ...(details !== undefined && { details }) }
  const options = { faults: [{ detail }], cause: error, postgrest }
  if (kind.conflict) return new AppError('CONFLICT', `nothing was changed: ${detail}`, options)
  return new AppError('CONSTRAINT_VIOLATED', `nothing was changed: ${detail}`, options)
}
