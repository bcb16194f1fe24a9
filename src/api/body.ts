import type { z } from 'zod'
import type { AppErrorOptions } from '../errors.ts'
import type { Coding } from '../lib/coding.ts'

/** After unpacking, where the body is gzip. */
const MAX_JSON_BYTES = 1024 * 1024

export interface JsonBody<S extends z.ZodType> {
  readonly kind: 'json'
  readonly mediaType: 'application/json'
  readonly schema: S
  readonly maxBytes: number
}

export interface RawBody {
  readonly kind: 'raw'
  readonly mediaType: string
  /** Further types that the handler can read; the request says which one it is. */
  readonly otherTypes?: readonly string[]
  readonly maxBytes: number
  readonly description: string
  /** Whether it may be missing, which is the same as an empty one. */
  readonly isOptional?: boolean
  /** How clients that go by more than our own words know that it is missing. */
  readonly missing?: Pick<AppErrorOptions, 'postgrestCode' | 'postgrest'>
  /** Whether a body is taken for one of this type that does not say of which it is. */
  readonly isAssumed?: boolean
}

export interface StreamBody {
  readonly kind: 'stream'
  readonly mediaType: string
  readonly description: string
}

export type BodySpec = JsonBody<z.ZodType> | RawBody | StreamBody

/** An upload that is read piece by piece, once. */
export interface Upload {
  /** What the client says the bytes are wrapped in; taking that off is the reader's part. */
  readonly coding: 'identity' | Coding
  /** Ends with the body; throws REQUEST_TIMEOUT where the client stops sending, `ClientGone` where it goes away. */
  readonly bytes: AsyncGenerator<Buffer, void, undefined>
  /** Ends the waiting for more: the reader of `bytes` throws the reason. */
  readonly stop: (reason: Error) => void
}

/** What a handler gets for a body of this kind. */
export type BodyOf<B> =
  B extends JsonBody<infer S> ? z.output<S> : B extends RawBody ? Buffer : B extends StreamBody ? Upload : undefined

/**
 * A JSON body, read as a whole and checked. Every object in the schema must be strict, so that a misspelt field is
 * refused and not ignored; `createApi` sees to that.
 */
export const jsonBody = <S extends z.ZodType>(schema: S): JsonBody<S> => ({
  kind: 'json',
  mediaType: 'application/json',
  schema,
  maxBytes: MAX_JSON_BYTES,
})

/** A body of any type, read as a whole. */
export const rawBody = (mediaType: string, options: Omit<RawBody, 'kind' | 'mediaType'>): RawBody => ({
  kind: 'raw',
  mediaType,
  ...options,
})

/** A body of any length, compressed or not, that the handler reads piece by piece. */
export const streamBody = (mediaType: string, description: string): StreamBody => ({
  kind: 'stream',
  mediaType,
  description,
})
