import { finished, pipeline } from 'node:stream/promises'
import { within } from '../lib/within.ts'
import type { AnswerSpec, AnyAnswer, StreamSource } from './answer.ts'
import { createAnswerSink, dropStalledReader } from './answer-sink.ts'
import type { AnswerHeaders, Exchange } from './exchange.ts'
import { isStillSending } from './request-body.ts'

/**
 * Sends what a handler answered, as its route declares it.
 *
 * @throws {Error} where the answer is not what its route declares: a bug, reported without the answer's content.
 * @throws whatever a streamed body throws; the connection is destroyed if its head had gone out.
 */
export async function sendAnswer(exchange: Exchange, spec: AnswerSpec | undefined, answer: AnyAnswer): Promise<void> {
  const { status, headers = {}, body } = answer
  switch (spec?.kind) {
    case 'empty':
      return sendWhole(exchange, status, headers)
    case 'json': {
      const parsed = spec.schema.safeParse(body)
      if (!parsed.success) throw new Error(`the answer ${status} does not fit its schema`, { cause: parsed.error })
      return sendWhole(exchange, status, headers, JSON.stringify(parsed.data), spec.mediaType)
    }
    case 'bytes':
      if (!isWhole(body)) throw new Error(`the answer ${status} has no bytes as its body`)
      if (body.length === 0 && answer.mediaType === undefined) return sendWhole(exchange, status, headers)
      return sendWhole(exchange, status, headers, body, answer.mediaType ?? spec.mediaType)
    case 'stream':
      if (!isStreamSource(body)) throw new Error(`the answer ${status} has no stream as its body`)
      return sendStream(exchange, status, { 'content-type': answer.mediaType ?? spec.mediaType, ...headers }, body)
    case undefined:
      throw new Error(`the answer ${status} is not declared`)
  }
}

/** Sends an answer whose bytes are at hand, or one without a body. */
export async function sendWhole(
  exchange: Exchange,
  status: number,
  headers: AnswerHeaders,
  body?: Uint8Array | string,
  mediaType?: string,
): Promise<void> {
  const { request, response } = exchange
  if (body === undefined) {
    // Without a length, Node would send 200 and 201 in chunks; with one, 204 and 304 would be malformed.
    exchange.sendHead(status, status === 204 || status === 304 ? headers : { ...headers, 'content-length': '0' })
    response.end()
    return
  }
  const described = { mediaType, sizeBytes: Buffer.byteLength(body) }
  if (request.method === 'HEAD') {
    exchange.sendHead(status, headers, described)
    response.end()
    return
  }
  exchange.bytesSent = described.sizeBytes
  const { bodyFailure } = exchange
  const isEarly = !bodyFailure && isStillSending(request)
  exchange.sendHead(status, bodyFailure || isEarly ? { ...headers, connection: 'close' } : headers, described)
  if (isEarly) return sendEarly(exchange, body)
  response.end(body)
  if (response.writableNeedDrain && !bodyFailure) dropStalledReader(exchange)
}

/**
 * Answers a client that is still sending its body. Closing at once would reset the connection and most clients would
 * never read the answer, so what they send is thrown away for a moment, until they have.
 */
async function sendEarly({ request, response, frame }: Exchange, body: Uint8Array | string): Promise<void> {
  response.write(body)
  request.resume()
  const enough = new AbortController()
  // How either wait ends does not matter: the answer has been written, and the connection closes after it.
  const settled = finished(request, { signal: enough.signal, writable: false }).catch(() => undefined)
  await within(frame.limits.lingerMs, settled, () => undefined)
  enough.abort()
  response.end()
}

async function sendStream(
  exchange: Exchange,
  status: number,
  headers: AnswerHeaders,
  source: StreamSource,
): Promise<void> {
  const sendHead = (): void => exchange.sendHead(status, headers)
  if (exchange.request.method === 'HEAD') {
    sendHead()
    exchange.response.end()
    return
  }
  const sink = createAnswerSink(exchange, sendHead)
  if (typeof source !== 'function') return pipeline(source, sink, { signal: exchange.signal })
  try {
    await source(sink)
    if (!sink.writableEnded) sink.end()
    await finished(sink)
  } catch (error) {
    sink.destroy(error instanceof Error ? error : new Error('the answer failed', { cause: error }))
    throw error
  }
}

const isWhole = (body: unknown): body is Uint8Array | string => typeof body === 'string' || body instanceof Uint8Array

const isStreamSource = (body: unknown): body is StreamSource =>
  typeof body === 'function' || (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)
