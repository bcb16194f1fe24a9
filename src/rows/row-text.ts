import { ROW_PARTS } from '../archive/pages.ts'

/** What stands before and behind a row's values in its line. */
export const PREFIX = Buffer.from(`${ROW_PARTS.prefix}[`, 'latin1')
export const SUFFIX = Buffer.from(`]${ROW_PARTS.suffix}`, 'latin1')

/** What a value takes at most beside its own bytes: quotes, what stands before it, `null` or `false`. */
const VALUE_BYTES = 8

/** How many bytes a row takes at most beside those of its values. */
export const roomFor = (columns: number): number => PREFIX.length + SUFFIX.length + columns * VALUE_BYTES

/** By character code, what JSON writes for a byte that does not stand for itself. */
const ESCAPES = Array.from({ length: 0x60 }, (_, code) =>
  Buffer.from(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
)

/** What JSON writes for a byte that does not stand for itself. */
export const escapeOf = (byte: number): Buffer => ESCAPES[byte] as Buffer
