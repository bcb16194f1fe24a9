import { isUtf8 } from 'node:buffer'
import { parseJson } from '../lib/parse-json.ts'

/** The longest escape of one character is a pair: a string that goes on is not cut closer to its end so far. */
const MAX_ESCAPE_BYTES = 12

const [QUOTE, BACKSLASH, LETTER_U, LETTER_D, CAPITAL_D] = [0x22, 0x5c, 0x75, 0x64, 0x44]

/** Reads one line that comes in pieces: what a step could not tell without what follows comes again with that. */
export class PieceReader {
  readonly #maxRestBytes: number
  readonly #fault: (detail: string) => Error
  readonly #notJson: () => Error
  #rest: Buffer = Buffer.alloc(0)

  /** @param maxRestBytes more than a step of what is JSON may leave. @param notJson makes what is thrown if it does. */
  constructor(maxRestBytes: number, fault: (detail: string) => Error, notJson: () => Error) {
    this.#maxRestBytes = maxRestBytes
    this.#fault = fault
    this.#notJson = notJson
  }

  /**
   * @param piece what follows; of a few hundred KiB, so that it takes no time.
   * @param step reads on, and returns the position behind what it read; `start` where nothing more can be told.
   */
  read(piece: Buffer, step: (bytes: Buffer, start: number) => number): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece
    const whole = bytes.subarray(0, endOfCharacters(bytes))
    if (!isUtf8(whole)) throw this.#fault('is not valid UTF-8')
    let at = 0
    for (let next = step(whole, at); next !== at; next = step(whole, at)) at = next
    // A copy: the piece is large, and what is left of it is not.
    this.#rest = Buffer.from(bytes.subarray(at))
    if (this.#rest.length > this.#maxRestBytes) throw this.#notJson()
  }

  /** Reads the next characters of a JSON string. @returns undefined where nothing can be told. */
  readString(bytes: Buffer, start: number): StringPiece | undefined {
    const end = endOfPiece(bytes, start)
    const isClosed = bytes[end] === QUOTE
    if (end === start && !isClosed) return undefined
    const text = parseJson(`"${bytes.toString('utf8', start, end)}"`)
    if (typeof text !== 'string') throw this.#notJson()
    return { text, isClosed, next: isClosed ? end + 1 : end }
  }
}

interface StringPiece {
  readonly text: string
  readonly isClosed: boolean
  /** The position behind it, closing quote included. */
  readonly next: number
}

/** @returns where the string ends, or, where it goes on, a position at which it can be cut. */
function endOfPiece(bytes: Buffer, start: number): number {
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
function endOfCharacters(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at >= 0 && at > bytes.length - 4 && isContinuation(bytes[at])) at -= 1
  const lead = bytes[at] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return at + length > bytes.length ? at : bytes.length
}
