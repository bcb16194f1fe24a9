import { databaseFailure, isServerFailure } from '../database/sqlstate-meanings.ts'
import { AppError, isAppError } from '../errors.ts'
import { constraintFailure } from './constraint-failure.ts'
import { toRequestFailure } from './query/index.ts'

/**
 * What PostgreSQL refused in a plan's statement, as a failure of the request where it is one; anything else comes back
 * as it is. PostgreSQL's own failure is the cause, and its code there for those who go by it.
 */
export function statementFailure(plan: Parameters<typeof toRequestFailure>[0], error: unknown): unknown {
  const known = constraintFailure(error) ?? (isServerFailure(error) ? error : databaseFailure(error))
  if (known) return known
  const failure = toRequestFailure(plan, error)
  if (failure === error || !isAppError(failure)) return failure
  return new AppError(failure.code, failure.message, { faults: failure.faults, cause: error })
}
