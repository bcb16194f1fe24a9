import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** The body's coding: `gzip` only where the client takes it and it makes the body shorter. */
export type Coding = 'identity' | 'gzip'

/** An answer of the content endpoint, ready to be sent. */
export interface ContentAnswer {
  readonly status: 200 | 206
  /** The reference of the very moment that the body shows. */
  readonly reference: string
  readonly contentType: string
  readonly contentRange: string | undefined
  readonly coding: Coding
  readonly body: Uint8Array
}

const zip = promisify(gzip)

/** A shorter body fits in one packet anyway. */
const MIN_BYTES = 1024

/** @returns the answer with a gzip body, or as it is where that is not worth it. */
export async function compress(answer: ContentAnswer): Promise<ContentAnswer> {
  if (answer.body.byteLength < MIN_BYTES) return answer
  const body = await zip(answer.body)
  return body.byteLength < answer.body.byteLength ? { ...answer, coding: 'gzip', body } : answer
}
