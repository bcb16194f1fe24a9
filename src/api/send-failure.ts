import { databaseFailure, reportsDamage } from '../database/sqlstate-meanings.ts'
import { AppError, type ErrorCode, MethodNotAllowed, RangeNotSatisfiable } from '../errors.ts'
import { type AnswerHeaders, ClientGone, type Exchange } from './exchange.ts'
import { toPostgrestError } from './postgrest-error.ts'
import { toProblem } from './problem.ts'
import { sendWhole } from './send-answer.ts'

/** When it is worth trying again, where the failure itself does not say. */
const RETRY_SECONDS: Partial<Record<ErrorCode, number>> = { REQUEST_TIMEOUT: 1 }

/**
 * Answers a request that failed, with a problem document, and logs what the operator has to know. Where part of an
 * answer has gone out already, or the client has left, the connection is destroyed instead.
 *
 * @param headers further headers of the answer.
 */
export async function sendFailure(exchange: Exchange, thrown: unknown, headers: AnswerHeaders = {}): Promise<void> {
  const { requestId, response, log } = exchange
  const failure = causeOf(exchange, thrown)
  if (failure instanceof ClientGone) {
    log.debug({ err: failure }, 'client went away')
    response.destroy()
    return
  }
  const problem = toProblem(failure, requestId)
  const body = exchange.speaksPostgrest ? { ...problem, ...toPostgrestError(failure, problem) } : problem
  exchange.problem = problem.type
  logFailure(exchange, failure, problem.status)
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const described = { ...failureHeaders(failure), ...headers, 'content-type': 'application/problem+json' }
  await sendWhole(exchange, problem.status, described, JSON.stringify(body))
}

/** What an aborted handler throws depends on where the abort met it; the reason of the abort says what happened. */
const causeOf = ({ abortReason }: Exchange, thrown: unknown): unknown => {
  if (thrown instanceof AppError) return thrown
  const cause = abortReason ?? thrown
  return databaseFailure(cause) ?? cause
}

const DAMAGE = 'PostgreSQL said, in a request, that its data or its disk is damaged'

function logFailure({ log }: Exchange, failure: unknown, status: number): void {
  if (!(failure instanceof AppError)) log.error({ err: failure }, 'request failed unexpectedly')
  else if (reportsDamage(failure)) log.error({ err: failure, code: failure.code }, DAMAGE)
  // Why it is not ready has been logged once, and is asked for again and again.
  else if (failure.code === 'NOT_READY') log.debug({ err: failure, code: failure.code }, 'request failed')
  else if (status >= 500) log.warn({ err: failure, code: failure.code }, 'request failed')
}

function failureHeaders(failure: unknown): AnswerHeaders {
  if (!(failure instanceof AppError)) return {}
  return {
    'retry-after': (failure.retryAfterSeconds ?? RETRY_SECONDS[failure.code])?.toString(),
    'content-range': failure instanceof RangeNotSatisfiable ? failure.contentRange : undefined,
    allow: failure instanceof MethodNotAllowed ? failure.allow : undefined,
    'www-authenticate': failure.code === 'UNAUTHENTICATED' ? 'Bearer' : undefined,
    connection: failure.code === 'REQUEST_TIMEOUT' || failure.code === 'SHUTTING_DOWN' ? 'close' : undefined,
  }
}
