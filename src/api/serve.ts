import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AccessLogOptions, logAccess } from './access-log.ts'
import type { MatchedPath } from './direct-routes.ts'
import { ClientGone, Exchange, type Frame } from './exchange.ts'
import { sendFailure } from './send-failure.ts'

/** Takes a request over. */
export type Responder = (request: IncomingMessage, response: ServerResponse, matched: MatchedPath) => void

/** Makes that from what answers a request. */
export type Serve = (respond: (exchange: Exchange) => Promise<void>, access: AccessLogOptions) => Responder

/** Ends a connection on which a body that nobody wants any more goes on coming in, so slowly that it would for ever. */
function dropSlowBody(request: IncomingMessage, limitMs: number): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy()
  }, limitMs)
  request.once('close', () => clearTimeout(timer))
}

/**
 * What every request goes through, whatever it is for: its id, its abort signal, its line in the access log, and a
 * problem document where answering fails. One function and not a chain of middleware, since each link costs.
 *
 * @param running holds each request from its head to the end of its answer.
 */
export function createServe(frame: Frame, running: Set<Exchange>): Serve {
  return (respond, access) => (request, response, matched) => {
    const exchange = new Exchange(frame, request, response, matched)
    running.add(exchange)
    response.once('close', () => {
      running.delete(exchange)
      if (!response.writableFinished) exchange.abort(new ClientGone('the client went away before the answer had ended'))
      logAccess(exchange, access)
      if (!request.complete) dropSlowBody(request, frame.limits.wholeBodyMs)
    })
    respond(exchange).catch((error: unknown) =>
      sendFailure(exchange, error).catch((failure: unknown) => {
        exchange.log.error({ err: failure }, 'the problem document could not be sent')
        response.destroy()
      }),
    )
  }
}
