import { randomUUID } from 'node:crypto'
import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Problem } from '../contract/problem.ts'
import { invalidRequest } from '../errors.ts'
import type { Exchange } from './exchange.ts'

interface RequestFault {
  readonly status: 400 | 405 | 408 | 431
  readonly detail: string
}

const NOT_HTTP: RequestFault = { status: 400, detail: 'what arrived is not a valid HTTP request' }

const NO_TUNNELS: RequestFault = { status: 405, detail: 'this is not a proxy, and does not accept CONNECT' }

const REQUEST_FAULTS: Readonly<Record<string, RequestFault>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    detail: `the path, the query and the headers of a request have at most ${maxHeaderSize} bytes together; use fewer or shorter filters`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'the head of the request did not arrive in time' },
}

const TYPES = {
  400: 'invalid-request',
  405: 'method-not-allowed',
  408: 'request-timeout',
  431: 'invalid-request',
} as const satisfies Record<RequestFault['status'], string>

/** When it is worth trying again to send a request that was too slow. */
const RETRY_AFTER_SECONDS = 1

/** How long a connection whose request was refused stays open for its client to read why. */
const LINGER_MS = 2_000

const ENDED_EARLY = 'HPE_INVALID_EOF_STATE'

/** Connections that have had their last answer. */
const refused = new WeakSet<Duplex>()

/**
 * Answers what Node could not parse as a request, and ends the connection. A body that ends before it is whole, or is
 * malformed, is for the request that it belongs to to answer. An answer that has been asked for properly is still given,
 * whatever comes after its request.
 */
export function answerMalformedRequest(running: ReadonlySet<Exchange>, error: Error, socket: Duplex): void {
  // More of the same: it is thrown away.
  if (refused.has(socket)) return
  if (!socket.writable) {
    socket.destroy(error)
    return
  }
  const code = 'code' in error ? String(error.code) : ''
  const exchange = [...running].findLast(({ request }) => request.socket === socket)
  if (!exchange) refuse(socket, REQUEST_FAULTS[code] ?? NOT_HTTP)
  else if (exchange.response.headersSent && !exchange.request.complete) socket.destroy(error)
  else {
    exchange.response.shouldKeepAlive = false
    if (!exchange.request.complete) exchange.failBody(bodyFailure(code))
  }
}

const bodyFailure = (code: string): Error =>
  invalidRequest(
    code === ENDED_EARLY
      ? 'the body ended before all of it had arrived'
      : 'the body is not valid HTTP: its chunks are malformed',
  )

/** Answers a `CONNECT`, and ends the connection. */
export const refuseTunnel = (socket: Duplex): void => refuse(socket, NO_TUNNELS)

function refuse(socket: Duplex, { status, detail }: RequestFault): void {
  const requestId = randomUUID()
  const title = STATUS_CODES[status] ?? ''
  const problem: Problem = {
    type: `urn:wharf:error:${TYPES[status]}`,
    title,
    status,
    detail,
    instance: `urn:wharf:request:${requestId}`,
  }
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...(status === 408 ? [`retry-after: ${RETRY_AFTER_SECONDS}`] : []),
    'connection: close',
  ]
  refused.add(socket)
  socket.on('error', () => undefined)
  // Closing with bytes unread would reset the connection, and the client would not come to read this.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.resume()
}
