declare const isByteText: unique symbol

/**
 * Text of which nothing but its bytes is wanted: a string that has one character (U+0000 to U+00FF) for each byte.
 *
 * To V8 such a string is those bytes, so that making it and writing it are copies, while to decode UTF-8 and to encode
 * it again was half of an export's work outside of PostgreSQL (`bench/`).
 */
export type ByteText = string & { readonly [isByteText]: true }

const ENCODING = 'latin1'

/** @returns the bytes of the text in UTF-8. */
export const toByteText = (text: string): ByteText => Buffer.from(text).toString(ENCODING) as ByteText

/** Writes the bytes into `target`. @returns the position after them. */
export const writeByteText = (text: ByteText, target: Buffer, start: number): number =>
  start + target.write(text, start, ENCODING)
