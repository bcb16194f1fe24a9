import { isConnectionLost } from '../../database/connection-lost.ts'
import { sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { AppError, isAppError } from '../../errors.ts'
import { errorCode } from '../../lib/error-code.ts'

interface Reason {
  readonly text: string
  readonly retryAfterSeconds?: number
}

/** Seconds after which it is worth trying again what passes by itself. */
const RETRY_SECONDS = 30

/** What servers, and TLS, say of a connection that they do not take. */
function reasonOf(error: unknown): Reason | undefined {
  const state = sqlState(error)
  if (state === '28P01') return { text: 'it refuses the login: its password is another one' }
  if (state === '3D000') return { text: 'the server has no database of this name' }
  if (state === '53300') {
    return { text: 'it has no session free for this login', retryAfterSeconds: RETRY_SECONDS }
  }
  if (state?.startsWith('28')) return { text: `it refuses the login: ${sqlMessage(error)}` }
  if (state === '57P03') return { text: 'it is starting, or recovering', retryAfterSeconds: RETRY_SECONDS }
  if (isConnectionLost(error)) {
    const code = errorCode(error)
    return {
      text: `it cannot be reached${code === undefined ? '' : ` (${code})`}`,
      retryAfterSeconds: RETRY_SECONDS,
    }
  }
  if (state !== undefined || !(error instanceof Error)) return undefined
  if (/does not support SSL/i.test(error.message)) return { text: 'it takes no encrypted connections (sslmode)' }
  const code = errorCode(error)
  if (/CERT|TLS|SSL/.test(code ?? '')) return { text: `its certificate was not accepted (${code})` }
  return undefined
}

/**
 * Says of a database that is not Wharf's why it could not be connected to.
 *
 * @param name its address without password and parameters.
 * @returns the error itself where that is not about the connection.
 */
export function attachedFailure(name: string, error: unknown): unknown {
  if (isAppError(error)) return error
  const reason = reasonOf(error)
  if (!reason) return error
  const { text, ...retry } = reason
  return new AppError('ATTACHED_FAILED', `the attached database ${name} cannot be used: ${text}`, {
    ...retry,
    cause: error,
  })
}
