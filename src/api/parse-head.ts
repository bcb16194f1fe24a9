import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { type Fault, invalidRequest } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import { type Checked, check, toParameterFault } from './faults.ts'
import { toQueryObject } from './query.ts'

type Fields = z.ZodObject | undefined
export type Parsed<S extends Fields> = S extends z.ZodObject ? z.output<S> : undefined

interface HeadSpec<P extends Fields, Q extends Fields, H extends Fields> {
  readonly params?: P
  readonly query?: Q
  readonly headers?: H
  readonly dialect?: unknown
}

interface Head<P extends Fields, Q extends Fields, H extends Fields> {
  readonly params: Parsed<P>
  readonly query: Parsed<Q>
  readonly headers: Parsed<H>
}

/** The query of a request as it came, without the question mark. */
export function queryTextOf({ url = '' }: IncomingMessage): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

/**
 * The query of a request, which is not decoded before somebody asks for it.
 *
 * @throws {AppError} INVALID_REQUEST where it can't be decoded, which `URLSearchParams` would ignore silently.
 */
export function searchOf(request: IncomingMessage): URLSearchParams {
  const text = queryTextOf(request)
  if (text.includes('%')) text.split('&').forEach(assertDecodable)
  return new URLSearchParams(text)
}

/**
 * The same in PostgREST's dialect, in which a `%` that no two hexadecimal digits follow is itself: `name=like.100%*`.
 *
 * @throws {AppError} INVALID_REQUEST where what is encoded is no UTF-8.
 */
export function dialectSearchOf(request: IncomingMessage): URLSearchParams {
  const text = queryTextOf(request)
  if (text.includes('%')) {
    for (const parameter of text.split('&')) assertDecodable(parameter.replaceAll(/%(?![\da-f]{2})/gi, '%25'))
  }
  return new URLSearchParams(text)
}

function assertDecodable(parameter: string): void {
  try {
    decodeURIComponent(parameter)
  } catch {
    const [name] = parameter.split('=')
    const detail = `query parameter "${name}" must be percent-encoded UTF-8, in which "%" itself is %25`
    throw invalidRequest('the query cannot be decoded', [{ detail }])
  }
}

/**
 * Checks path, query and headers of a request against what its route declares.
 *
 * @throws {AppError} INVALID_REQUEST with all that is wrong in any of them.
 */
export function parseHead<P extends Fields, Q extends Fields, H extends Fields>(
  spec: HeadSpec<P, Q, H>,
  exchange: Exchange,
): Head<P, Q, H>
export function parseHead(
  spec: HeadSpec<Fields, Fields, Fields>,
  { request, matched }: Exchange,
): Head<Fields, Fields, Fields> {
  const faults: Fault[] = []
  const given = spec.dialect ? undefined : givenQuery(spec.query, request)
  if (given) faults.push(...unknownNames(spec.query, given))
  const params = parsePart('path parameter', spec.params, matched.params, faults)
  const query = parsePart('query parameter', spec.query, given, faults)
  const headers = parsePart('header', spec.headers, request.headers, faults)
  if (faults.length > 0) throw invalidRequest('the request has invalid parameters', faults)
  return { params, query, headers }
}

/** Most calls have no query, and it is not worth building one for them. */
const givenQuery = (schema: Fields, request: IncomingMessage): Record<string, unknown> | undefined =>
  schema || request.url?.includes('?') ? toQueryObject(searchOf(request)) : undefined

/** @param faults gets what is wrong. @returns undefined where something is, or nothing is declared. */
function parsePart(part: string, schema: Fields, value: unknown, faults: Fault[]): Record<string, unknown> | undefined {
  if (!schema) return undefined
  const checked: Checked<z.ZodObject> = check(schema, value)
  if ('value' in checked) return checked.value
  faults.push(...checked.faults.map((fault) => toParameterFault(part, fault)))
  return undefined
}

/** A misspelt `?dryrun=true` must not import for real, so unknown names are refused. */
function unknownNames(schema: Fields, given: Record<string, unknown>): Fault[] {
  if (schema?.def.catchall) return []
  const known = Object.keys(schema?.shape ?? {})
  const unknown = Object.keys(given).filter((name) => !known.includes(name))
  const hint = known.length > 0 ? `known are ${known.join(', ')}` : 'this call has none'
  return unknown.map((name) => ({ detail: `query parameter "${name}" is not known; ${hint}` }))
}
