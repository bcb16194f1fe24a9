import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { AppError } from '../errors.ts'
import { rowsShare } from '../lib/thread-share.ts'
import { within } from '../lib/within.ts'
import { answerMalformedRequest, refuseTunnel } from './answer-malformed-request.ts'
import { type ConnectionLimitOptions, limitConnections } from './connection-limit.ts'
import type { Api } from './create-api.ts'

const SECOND = 1_000

/** How long running requests may go on once the service stops. */
const GRACE_MS = 10 * SECOND
/** How long those may go on that can wait for long before they answer, and have sent nothing yet. */
const WAITING_MS = SECOND
/** How long those that were aborted then may take to clean up and say so. */
const ABORT_MS = 2 * SECOND
const RETRY_AFTER_SECONDS = 5

export interface ListenOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly graceMs?: number
  /** How long the head of a request may take to arrive. */
  readonly headMs?: number
  readonly connections?: ConnectionLimitOptions
}

const HEAD_MS = 30 * SECOND
/** How often connections are looked at whose request is late. */
const CHECK_MS = 5 * SECOND
/** When it is worth trying again for an address that has too many connections. */
const CONNECTIONS_RETRY_SECONDS = 5

const tooManyConnections = (): AppError =>
  new AppError('TOO_MANY_REQUESTS', 'this address has too many connections open; close some, or use them again', {
    retryAfterSeconds: CONNECTIONS_RETRY_SECONDS,
  })

const ANY_NUMBER: ConnectionLimitOptions = { maxConnections: 0, trustedProxies: [] }

export interface Listening {
  /** Where the interface is: `http://127.0.0.1:4000`. */
  readonly url: string
  /**
   * Takes no more connections, lets running requests end, aborts those that have not after the grace period (those
   * that wait before they answer sooner, and streams of events at once), and closes all connections at last. Calling it again returns the same promise.
   */
  close(): Promise<void>
}

/**
 * Serves the HTTP interface.
 *
 * @throws the system's error where the address can't be had.
 */
export async function listen(api: Api, options: ListenOptions): Promise<Listening> {
  let draining = false
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    rowsShare.noteRequest()
    if (draining) response.setHeader('connection', 'close')
    if (isOneTooMany(request.socket)) api.refuse(request, response, tooManyConnections())
    else api.answer(request, response)
  }
  const { headMs = HEAD_MS } = options
  const server = createServer(
    {
      // An upload may take hours; that it goes on is watched while it is read.
      requestTimeout: 0,
      headersTimeout: headMs,
      connectionsCheckingInterval: Math.min(headMs, CHECK_MS),
      // Longer than load balancers keep idle connections, so that they never send into one that is being closed.
      keepAliveTimeout: 65 * SECOND,
    },
    answer,
  )
  // The size of the head is limited. Where the number of headers is, too, Node leaves out those beyond it.
  server.maxHeadersCount = 0
  const isOneTooMany = limitConnections(server, options.connections ?? ANY_NUMBER)
  // Says "100 Continue" no sooner than the body is wanted, see `readBody`. Any other expectation is left alone.
  server.on('checkContinue', answer)
  server.on('checkExpectation', answer)
  server.on('connect', (_request, socket) => refuseTunnel(socket))
  server.on('clientError', (error, socket) => answerMalformedRequest(api.running, error, socket))
  server.listen(options.port, options.host)
  await once(server, 'listening')

  let closing: Promise<void> | undefined
  return {
    url: urlOf(server),
    close() {
      draining = true
      closing ??= close(server, api, options.graceMs ?? GRACE_MS)
      return closing
    },
  }
}

async function close(server: Server, api: Api, graceMs: number): Promise<void> {
  const closed = once(server, 'close')
  const giveUp = (): void => undefined
  server.close()
  for (const exchange of api.running) {
    const { response } = exchange
    exchange.drain()
    if (!response.headersSent) response.setHeader('connection', 'close')
    // A connection whose answer had begun is kept alive by its client; nothing but this would close it.
    response.once('close', () => server.closeIdleConnections())
  }
  const stopped = new AppError('SHUTTING_DOWN', 'the service is being stopped; please try again', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
  const waitingMs = Math.min(WAITING_MS, graceMs)
  await within(waitingMs, closed, giveUp)
  for (const exchange of api.running) {
    if (exchange.canWaitLong && !exchange.response.headersSent) exchange.abort(stopped)
  }
  await within(graceMs - waitingMs, closed, giveUp)
  for (const exchange of api.running) exchange.abort(stopped)
  if (api.running.size > 0) await within(ABORT_MS, closed, giveUp)
  server.closeAllConnections()
  await closed
}

function urlOf(server: Server): string {
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the server has no address')
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}
