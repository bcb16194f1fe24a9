/** The longest escape of one character is a pair: a string that goes on is not cut closer to its end so far. */
const MAX_ESCAPE_BYTES = 12

const [QUOTE, BACKSLASH, LETTER_U, LETTER_D, CAPITAL_D] = [0x22, 0x5c, 0x75, 0x64, 0x44]

/** @returns where the string ends, or, where it goes on, a position at which it can be cut. */
export function endOfPiece(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    const length = byte === BACKSLASH ? escapeLength(bytes, at) : 1
    if (at + Math.max(length, MAX_ESCAPE_BYTES) > bytes.length) break
    at += length
  }
  // Near its end so far, the string may still end.
  for (let end = at; end < bytes.length; end += bytes[end] === BACKSLASH ? escapeLength(bytes, end) : 1) {
    if (bytes[end] === QUOTE) return end
  }
  while (at > start && isContinuation(bytes[at])) at -= 1
  return at
}

/** The length of an escape; of two, where the first is half of a pair. */
function escapeLength(bytes: Buffer, at: number): number {
  if (bytes[at + 1] !== LETTER_U) return 2
  const isSurrogate = bytes[at + 2] === LETTER_D || bytes[at + 2] === CAPITAL_D
  return isSurrogate && bytes[at + 6] === BACKSLASH && bytes[at + 7] === LETTER_U ? 12 : 6
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** @returns the position behind the last character that is whole. */
export function endOfCharacters(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at >= 0 && at > bytes.length - 4 && isContinuation(bytes[at])) at -= 1
  const lead = bytes[at] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return at + length > bytes.length ? at : bytes.length
}
