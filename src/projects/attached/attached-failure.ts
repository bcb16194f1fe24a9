import { PASSWORD_MISSING } from '../../contract/attachment.ts'
import { connectFailure } from '../../database/address/connect-failure.ts'
import { sqlState } from '../../database/sqlstate.ts'
import { databaseFailure } from '../../database/sqlstate-meanings.ts'
import { AppError, isAppError } from '../../errors.ts'

/** Seconds after which it is worth trying again what passes by itself. */
const RETRY_SECONDS = 30

/** The login, its password or the database is not right. */
const REFUSED = /^(28|3D)/

/**
 * Says of a database that is not Wharf's why it cannot be used: unlike with Wharf's own, that is told to
 * those who use it.
 *
 * @param name its address without password and parameters.
 * @returns the error itself where that is not about the connection, or the server.
 */
export function attachedFailure(name: string, error: unknown): unknown {
  const failure = connectFailure(error, name)
  if (isAppError(failure, 'WRONG_USE')) {
    return failed(failure, `${name} ${PASSWORD_MISSING}: postgres://login:password@host/database`)
  }
  if (isAppError(failure, 'DATABASE_UNSUITABLE')) return failed(failure, failure.message)
  if (!isAppError(failure, 'DATABASE_UNAVAILABLE')) return failure
  const isRefused = REFUSED.test(sqlState(failure.cause) ?? '')
  return failed(failure, failure.message, isRefused ? {} : { retryAfterSeconds: RETRY_SECONDS })
}

/**
 * The same of a database that was lost while it was being used.
 *
 * @returns the error itself where it was not.
 */
export function lostMeanwhile(name: string, error: unknown): unknown {
  const failure = databaseFailure(error)
  if (!isAppError(failure, 'DATABASE_UNAVAILABLE')) return error
  return failed(failure, `the connection to ${name} was lost`, { retryAfterSeconds: RETRY_SECONDS })
}

const failed = (cause: AppError, detail: string, retry: { readonly retryAfterSeconds?: number } = {}): AppError =>
  new AppError('ATTACHED_FAILED', `the attached database cannot be used: ${detail}`, { ...retry, cause })
