import type { Writable } from 'node:stream'
import type { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import type { HeaderName } from './exchange.ts'

/** Names of the headers that an answer may carry beside those of every answer, each with what it says. */
export type HeaderDocs = Readonly<Record<HeaderName, string>>

interface Described<H extends HeaderDocs> {
  readonly description: string
  readonly headers: H
}

export interface JsonAnswer<S extends z.ZodType, H extends HeaderDocs> extends Described<H> {
  readonly kind: 'json'
  readonly mediaType: 'application/json'
  readonly schema: S
}

export interface BytesAnswer<H extends HeaderDocs> extends Described<H> {
  readonly kind: 'bytes'
  readonly mediaType: string
  /** Further types that the handler can answer in; it says with each answer which one it is. */
  readonly otherTypes: readonly string[]
  /** The form of the bytes, for the description only; they are not checked. */
  readonly schema?: z.ZodType
}

export interface StreamAnswer<H extends HeaderDocs> extends Described<H> {
  readonly kind: 'stream'
  readonly mediaType: string
}

export interface EmptyAnswer<H extends HeaderDocs> extends Described<H> {
  readonly kind: 'empty'
}

export type AnswerSpec =
  | JsonAnswer<z.ZodType, HeaderDocs>
  | BytesAnswer<HeaderDocs>
  | StreamAnswer<HeaderDocs>
  | EmptyAnswer<HeaderDocs>

/** A route's good answers, by status. */
export type Answers = Readonly<Record<number, AnswerSpec>>

/**
 * The body of a streamed answer: its chunks, or a function that writes them to a sink, as the last stage of a
 * `pipeline`. The head goes out with the first byte, so what fails before that is answered with a problem document;
 * what fails later ends the connection, so that a part is never taken for the whole.
 */
export type StreamSource = AsyncIterable<Uint8Array> | ((sink: Writable) => Promise<void>)

type AnswerBody<T extends AnswerSpec> =
  T extends JsonAnswer<infer S, HeaderDocs>
    ? { readonly body: ReadonlyDeep<z.input<S>> }
    : T extends BytesAnswer<HeaderDocs>
      ? { readonly body: Uint8Array | string; readonly mediaType?: string }
      : T extends StreamAnswer<HeaderDocs>
        ? { readonly body: StreamSource }
        : { readonly body?: undefined }

type DeclaredHeaders<T extends AnswerSpec> = {
  readonly headers?: { readonly [N in keyof T['headers']]?: string | undefined }
}

/** What a handler may answer: one of the declared statuses, with the body and the headers declared for it. */
export type AnswerOf<A extends Answers> = {
  [S in keyof A & number]: { readonly status: S } & AnswerBody<A[S]> & DeclaredHeaders<A[S]>
}[keyof A & number]

/** Any answer, its types forgotten. */
export interface AnyAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** Of an answer in bytes, where it is not the one that is declared first. */
  readonly mediaType?: string
}

type NoHeaders = Readonly<Record<never, string>>
const NO_HEADERS: NoHeaders = {}

/** A JSON answer. It is parsed by its schema before it goes out, so nothing undeclared does. */
export function json<S extends z.ZodType>(schema: S, description: string): JsonAnswer<S, NoHeaders>
export function json<S extends z.ZodType, H extends HeaderDocs>(
  schema: S,
  description: string,
  headers: H,
): JsonAnswer<S, H>
export function json(schema: z.ZodType, description: string, headers: HeaderDocs = NO_HEADERS) {
  return { kind: 'json', mediaType: 'application/json', schema, description, headers }
}

/**
 * An answer whose bytes the handler has at hand: a page, or JSON that is serialised already. One without any bytes is
 * sent without a content type.
 *
 * @param mediaType several where the handler chooses one with each answer.
 */
export function bytes(mediaType: string, description: string): BytesAnswer<NoHeaders>
export function bytes<H extends HeaderDocs>(
  mediaType: string | readonly [string, ...string[]],
  description: string,
  headers: H,
  schema?: z.ZodType,
): BytesAnswer<H>
export function bytes(
  mediaType: string | readonly [string, ...string[]],
  description: string,
  headers: HeaderDocs = NO_HEADERS,
  schema?: z.ZodType,
): BytesAnswer<HeaderDocs> {
  const [first, ...otherTypes] = typeof mediaType === 'string' ? ([mediaType] as const) : mediaType
  return { kind: 'bytes', mediaType: first, otherTypes, description, headers, ...(schema && { schema }) }
}

/** An answer of any length, see `StreamSource`. */
export function stream(mediaType: string, description: string): StreamAnswer<NoHeaders>
export function stream<H extends HeaderDocs>(mediaType: string, description: string, headers: H): StreamAnswer<H>
export function stream(mediaType: string, description: string, headers: HeaderDocs = NO_HEADERS) {
  return { kind: 'stream', mediaType, description, headers }
}

/** An answer without a body, as 204 and 304 are. */
export function empty(description: string): EmptyAnswer<NoHeaders>
export function empty<H extends HeaderDocs>(description: string, headers: H): EmptyAnswer<H>
export function empty(description: string, headers: HeaderDocs = NO_HEADERS) {
  return { kind: 'empty', description, headers }
}
