import { ClientGone, type Exchange } from './exchange.ts'

export interface AccessLogOptions {
  /** Which call it was; undefined where the path is unknown. */
  readonly operationId: string | undefined
  readonly level: 'info' | 'debug'
}

/**
 * Writes the one line that every request leaves, and has it counted, once its answer has ended one way or the other.
 *
 * Without the query, which may hold what is nobody's business, and with the token's id instead of the token.
 */
export function logAccess(exchange: Exchange, { operationId, level }: AccessLogOptions): void {
  const { frame, request, response } = exchange
  const ms = performance.now() - exchange.startedAtMs
  frame.observe?.({ operation: operationId, status: response.statusCode, seconds: ms / 1000 })
  frame.accessLog[level]({
    requestId: exchange.requestId,
    method: request.method,
    path: exchange.matched.path,
    operation: operationId,
    // What was sent, not what Node would have sent.
    status: response.headersSent ? response.statusCode : undefined,
    ms: Math.round(ms * 10) / 10,
    bytes: exchange.bytesSent,
    tokenId: exchange.tokenId,
    problem: exchange.problem,
    // Only where it is false: the client, or we, ended the connection before the answer was whole.
    complete: response.writableFinished ? undefined : false,
    // Only where it is true: it was the client.
    aborted: !response.writableFinished && exchange.abortReason instanceof ClientGone ? true : undefined,
  })
}
