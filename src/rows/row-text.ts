import { ROW_PARTS } from '../archive/pages.ts'

/** What stands before and behind a row's values in its line. */
export const PREFIX = Buffer.from(`${ROW_PARTS.prefix}[`, 'latin1')
export const SUFFIX = Buffer.from(`]${ROW_PARTS.suffix}`, 'latin1')

/** By character code, what JSON writes for a byte that does not stand for itself. */
const ESCAPES = Array.from({ length: 0x60 }, (_, code) =>
  Buffer.from(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
)

/** What JSON writes for a byte that does not stand for itself. */
export const escapeOf = (byte: number): Buffer => ESCAPES[byte] as Buffer
