import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Exchange } from './exchange.ts'
import type { Problem } from './problem.ts'

interface Malformation {
  readonly status: number
  readonly detail: string
}

const NOT_HTTP: Malformation = { status: 400, detail: 'what arrived is not a valid HTTP request' }

const MALFORMATIONS: Readonly<Record<string, Malformation>> = {
  HPE_HEADER_OVERFLOW: { status: 431, detail: 'the head of the request is too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'the head of the request did not arrive in time' },
}

/**
 * Answers what Node could not parse as a request, and ends the connection.
 *
 * @param running where a request on the same connection is already being answered, nothing can be said any more.
 */
export function answerMalformedRequest(running: ReadonlySet<Exchange>, error: Error, socket: Duplex): void {
  const busy = [...running].some(({ request }) => request.socket === socket)
  if (busy || !socket.writable) {
    socket.destroy(error)
    return
  }
  const code = 'code' in error ? String(error.code) : ''
  const { status, detail } = MALFORMATIONS[code] ?? NOT_HTTP
  const requestId = randomUUID()
  const title = STATUS_CODES[status] ?? ''
  const problem: Problem = {
    type: `urn:wharf:error:${status === 408 ? 'request-timeout' : 'invalid-request'}`,
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
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
