import type { Writable } from 'node:stream'
import type { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import type { HeaderName } from './exchange.ts'

/** Names of the headers that an answer may carry beside those of every answer, each with what it says. */
export type HeaderDocs = Readonly<Record<HeaderName, string>>

interface Described<H extends HeaderDocs> {
  readonly description: string
  readonly headers: H | undefined
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
  readonly schema: z.ZodType | undefined
}

export interface StreamAnswer<H extends HeaderDocs> extends Described<H> {
  readonly kind: 'stream'
  readonly mediaType: string
  /** As of an answer in bytes. */
  readonly otherTypes: readonly string[]
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
        ? { readonly body: StreamSource; readonly mediaType?: string }
        : { readonly body?: undefined }

type DeclaredHeaders<T extends AnswerSpec> = {
  readonly headers?: { readonly [N in keyof NonNullable<T['headers']>]?: string | undefined }
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
  /** Of an answer in bytes or a stream, where it is not the one that is declared first. */
  readonly mediaType?: string
}

type NoHeaders = Readonly<Record<never, string>>

/** A JSON answer. It is parsed by its schema before it goes out, so nothing undeclared does. */
export const json = <S extends z.ZodType, H extends HeaderDocs = NoHeaders>(
  schema: S,
  description: string,
  headers?: H,
): JsonAnswer<S, H> => ({ kind: 'json', mediaType: 'application/json', schema, description, headers })

/**
 * An answer whose bytes the handler has at hand: a page, or JSON that is serialised already. One without any bytes is
 * sent without a content type.
 *
 * @param mediaType several where the handler chooses one with each answer.
 */
export function bytes<H extends HeaderDocs = NoHeaders>(
  mediaType: string | readonly [string, ...string[]],
  description: string,
  headers?: H,
  schema?: z.ZodType,
): BytesAnswer<H> {
  return { kind: 'bytes', ...declaredTypes(mediaType), description, headers, schema }
}

/** An answer of any length, see `StreamSource`. @param mediaType as of `bytes`. */
export const stream = <H extends HeaderDocs = NoHeaders>(
  mediaType: string | readonly [string, ...string[]],
  description: string,
  headers?: H,
): StreamAnswer<H> => ({ kind: 'stream', ...declaredTypes(mediaType), description, headers })

function declaredTypes(mediaType: string | readonly [string, ...string[]]) {
  const [first, ...otherTypes] = typeof mediaType === 'string' ? ([mediaType] as const) : mediaType
  return { mediaType: first, otherTypes }
}

/** An answer without a body, as 204 and 304 are. */
export const empty = <H extends HeaderDocs = NoHeaders>(description: string, headers?: H): EmptyAnswer<H> => ({
  kind: 'empty',
  description,
  headers,
})
