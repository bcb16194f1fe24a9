import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import getRawBody from 'raw-body'
import type { z } from 'zod'
import { AppError, invalidRequest } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'
import { isGzip } from '../lib/recognise-coding.ts'
import { within } from '../lib/within.ts'
import { NO_ZSTD, zstd } from '../lib/zstd.ts'
import type { BodyOf, BodySpec, JsonBody, Upload } from './body.ts'
import { ClientGone, type Exchange } from './exchange.ts'
import { check, toBodyFault } from './faults.ts'
import { hasBody } from './request-body.ts'
import { readUpload } from './upload.ts'

const unzip = promisify(gunzip)
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a request's body as its route declares it.
 *
 * @throws {AppError} UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, REQUEST_TIMEOUT, and INVALID_REQUEST with each fault.
 * @throws {ClientGone} where the client goes away meanwhile.
 */
export function readBody<B extends BodySpec | undefined>(spec: B | undefined, exchange: Exchange): Promise<BodyOf<B>>
export async function readBody(spec: BodySpec | undefined, exchange: Exchange): Promise<unknown> {
  if (!spec) return undefined
  if (!hasBody(exchange.request)) {
    // An upload of no bytes is for its reader to judge, who knows what is missing.
    if (spec.kind === 'stream') return toUpload(exchange, 'identity')
    if (spec.kind === 'raw' && spec.isOptional) return Buffer.alloc(0)
    const { postgrestCode, postgrest } = (spec.kind === 'raw' && spec.missing) || {}
    throw invalidRequest(`a body of the type ${spec.mediaType} is required`, [], postgrestCode, postgrest)
  }
  const isAssumed = spec.kind === 'raw' && spec.isAssumed === true
  const types = [spec.mediaType, ...(spec.kind === 'raw' ? (spec.otherTypes ?? []) : [])]
  assertMediaType(types, exchange.request.headers['content-type'] ?? (isAssumed ? spec.mediaType : undefined))
  if (spec.kind === 'json') return readJson(spec, exchange)
  const coding = assertCoding(spec, exchange.request.headers['content-encoding'])
  admitBody(exchange)
  return spec.kind === 'raw' ? readWhole(exchange, spec.maxBytes) : toUpload(exchange, coding)
}

/**
 * A client that sent `Expect: 100-continue` holds its body back until it gets 100. It gets it only here, after all that
 * can be refused without the body has been.
 */
function admitBody({ request, response }: Exchange): void {
  if (/^100-continue$/i.test(request.headers.expect ?? '') && request.httpVersionMinor > 0) response.writeContinue()
}

function assertMediaType(expected: readonly string[], contentType: string | undefined): void {
  const [mediaType = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (!expected.includes(mediaType)) throw unsupported(`the body must have the Content-Type ${expected.join(' or ')}`)
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) throw unsupported('the body must be UTF-8')
}

function assertCoding(spec: BodySpec, contentEncoding: string | undefined): Upload['coding'] {
  const coding = (contentEncoding ?? 'identity').trim().toLowerCase()
  if (coding === 'identity') return coding
  if (spec.kind === 'stream') {
    if (coding === 'gzip') return coding
    if (coding === 'zstd' && zstd) return coding
  }
  const known = spec.kind === 'stream' ? `gzip${zstd ? ', zstd' : ''}, or none` : 'none'
  const why = spec.kind === 'stream' && coding === 'zstd' ? ` (${NO_ZSTD})` : ''
  throw unsupported(`the body must have the Content-Encoding ${known}${why}`)
}

const toUpload = (exchange: Exchange, coding: Upload['coding']): Upload => ({
  coding,
  bytes: readUpload(exchange.request, exchange.frame.limits, exchange),
  stop: (reason) => exchange.failBody(reason),
})

async function readJson(spec: JsonBody<z.ZodType>, exchange: Exchange): Promise<unknown> {
  admitBody(exchange)
  const packed = await readWhole(exchange, spec.maxBytes)
  const checked = check(spec.schema, parse(decodeUtf8(await unpack(packed, spec.maxBytes))))
  if ('value' in checked) return checked.value
  throw invalidRequest('the body does not have the expected form', checked.faults.map(toBodyFault))
}

async function readWhole(exchange: Exchange, maxBytes: number): Promise<Buffer> {
  const { request, frame } = exchange
  const { wholeBodyMs } = frame.limits
  const failure = new Promise<never>((_, reject) => {
    exchange.onBodyFailure = reject
    if (exchange.bodyFailure) reject(exchange.bodyFailure)
  })
  try {
    const length = request.headers['content-length'] ?? null
    const body = Promise.race([getRawBody(request, { limit: maxBytes, length }), failure])
    return await within(wholeBodyMs, body, () => {
      throw bodyTimedOut(wholeBodyMs)
    })
  } catch (error) {
    if (hasType(error, 'entity.too.large')) throw bodyTooLarge(maxBytes)
    if (hasType(error, 'request.aborted')) throw new ClientGone('the client went away before its body had ended')
    throw error
  } finally {
    exchange.onBodyFailure = undefined
  }
}

/**
 * Takes gzip off, going by the first bytes: `Content-Encoding` on a JSON request is no help, since on `POST /export`
 * it is about the answer. No JSON text begins with these two bytes.
 */
async function unpack(packed: Buffer, maxBytes: number): Promise<Buffer> {
  if (!isGzip(packed)) return packed
  try {
    return await unzip(packed, { maxOutputLength: maxBytes })
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBytes)
    throw invalidRequest('the body begins like gzip and cannot be unpacked')
  }
}

/** @throws {AppError} INVALID_REQUEST */
export function decodeUtf8(text: Buffer): string {
  try {
    return utf8.decode(text)
  } catch {
    throw invalidRequest('the body is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // Of V8's message only the position is used: the rest quotes the body.
    const position = error instanceof Error && /at position \d+/.exec(error.message)?.[0]
    throw invalidRequest(position ? `the body is not valid JSON, ${position}` : 'the body is not valid JSON')
  }
}

const hasType = (error: unknown, type: string): boolean =>
  error instanceof Error && 'type' in error && error.type === type

const unsupported = (message: string): AppError => new AppError('UNSUPPORTED_MEDIA_TYPE', message)

const bodyTooLarge = (maxBytes: number): AppError =>
  new AppError('BODY_TOO_LARGE', `the body may have at most ${maxBytes} bytes`)

const bodyTimedOut = (wholeBodyMs: number): AppError =>
  new AppError('REQUEST_TIMEOUT', `the body did not arrive within ${wholeBodyMs} ms; the connection is closed`)
