import { sqlState } from '../database/sqlstate.ts'
import { AppError, isAppError } from '../errors.ts'
import { constraintFailure } from './constraint-failure.ts'
import { toRequestFailure } from './query/index.ts'

/**
 * What PostgreSQL refused in a plan's statement, as a failure of the request where it is one; anything else comes back
 * as it is. PostgreSQL's own failure is the cause, and its code there for those who go by it.
 */
export function statementFailure(plan: Parameters<typeof toRequestFailure>[0], error: unknown): unknown {
  const known = constraintFailure(error) ?? concurrencyFailure(error)
  if (known) return known
  const failure = toRequestFailure(plan, error)
  if (failure === error || !isAppError(failure)) return failure
  return new AppError(failure.code, failure.message, { faults: failure.faults, cause: error })
}

/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html, class 40 */
function concurrencyFailure(error: unknown): AppError | undefined {
  if (!/^40(001|P01)$/.test(sqlState(error) ?? '')) return undefined
  return new AppError(
    'CONFLICT',
    'somebody else wrote the same rows at the same time; nothing was changed, try again',
    {
      retryAfterSeconds: 1,
      cause: error,
    },
  )
}
