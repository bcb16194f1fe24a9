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
