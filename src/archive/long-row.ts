import { isUtf8 } from 'node:buffer'
import { parseJson } from '../lib/parse-json.ts'
import type { CopyBuffer } from './copy-buffer.ts'
import { escapeText, toNumberText } from './copy-text.ts'
import type { ValueCheck } from './row-lines.ts'
import { endOfCharacters, endOfPiece } from './string-pieces.ts'

/** Longer than any number or word that stands in a row. */
const MAX_PLAIN_BYTES = 1_024

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

const BEGINNING = /^[ \t]*\{[ \t]*"row"[ \t]*:[ \t]*/

/** Whether a line that begins so is a row, as far as that can be seen. */
export const beginsAsRow = (beginning: Buffer): boolean => BEGINNING.test(beginning.toString('latin1'))

export interface LongRowRules {
  /** How many values a row of the table has. */
  readonly columns: number
  readonly checkValue: ValueCheck
  /** Makes what is thrown where something is wrong. */
  readonly fault: (detail: string) => Error
}

/** Where in its line the reading is. */
type Place = 'array' | 'first value' | 'value' | 'string' | 'behind a value' | 'behind the array' | 'end' | 'ended'

/** Reads one row piece by piece, whatever its size, and writes it in COPY's text format. */
export class LongRow {
  readonly #rules: LongRowRules
  #place: Place | 'beginning' = 'beginning'
  #column = 0
  /** What could not be told without what follows. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(rules: LongRowRules) {
    this.#rules = rules
  }

  /** Whether its newline has been read. */
  get isWhole(): boolean {
    return this.#place === 'ended'
  }

  /** @param piece what follows; of a few hundred KiB, so that it takes no time. @throws a `fault`. */
  read(piece: Buffer, text: CopyBuffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece
    const whole = bytes.subarray(0, endOfCharacters(bytes))
    if (!isUtf8(whole)) throw this.#rules.fault('is not valid UTF-8')
    let at = 0
    for (let next = this.#step(whole, at, text); next !== undefined; next = this.#step(whole, at, text)) at = next
    // A copy: the piece is large, and what is left of it is not.
    this.#rest = Buffer.from(bytes.subarray(at))
    if (this.#rest.length > 2 * MAX_PLAIN_BYTES) throw this.#notJson()
  }

  /** @returns the position behind what was read; undefined where nothing more can be told. */
  #step(bytes: Buffer, start: number, text: CopyBuffer): number | undefined {
    if (this.#place === 'string') return this.#readString(bytes, start, text)
    if (this.#place === 'ended') return undefined
    const at = skipSpaces(bytes, start)
    const next = at < bytes.length ? this.#readToken(bytes, at, text) : undefined
    return next ?? (at > start ? at : undefined)
  }

  #readToken(bytes: Buffer, at: number, text: CopyBuffer): number | undefined {
    switch (this.#place) {
      case 'beginning':
        return this.#readBeginning(bytes, at)
      case 'array':
        if (bytes[at] !== OPENING_BRACKET) throw this.#rules.fault('a row must be an array')
        this.#place = 'first value'
        return at + 1
      case 'first value':
        this.#place = bytes[at] === CLOSING_BRACKET ? 'behind a value' : 'value'
        return at
      case 'value':
        return this.#readValue(bytes, at, text)
      case 'behind a value':
        return this.#readBehindValue(bytes[at], at, text)
      case 'behind the array':
        if (bytes[at] !== CLOSING_BRACE) throw this.#notJson()
        this.#place = 'end'
        return at + 1
      case 'end':
        if (bytes[at] !== NEWLINE) throw this.#notJson()
        this.#place = 'ended'
        return at + 1
      default:
        return undefined
    }
  }

  #readBeginning(bytes: Buffer, start: number): number | undefined {
    const [beginning] = BEGINNING.exec(bytes.toString('latin1', start, start + MAX_PLAIN_BYTES)) ?? []
    if (beginning === undefined) {
      if (bytes.length - start > MAX_PLAIN_BYTES) throw this.#notJson()
      return undefined
    }
    this.#place = 'array'
    return start + beginning.length
  }

  #readValue(bytes: Buffer, at: number, text: CopyBuffer): number | undefined {
    if (this.#column >= this.#rules.columns) throw this.#wrongNumber(`more than ${this.#rules.columns}`)
    if (bytes[at] === QUOTE) {
      if (this.#column > 0) text.append('\t')
      this.#place = 'string'
      return at + 1
    }
    // None that a column takes, whatever is in it.
    if (bytes[at] === OPENING_BRACKET || bytes[at] === OPENING_BRACE) this.#rules.checkValue(this.#column, {})
    let end = at
    while (end < bytes.length && !isDelimiter(bytes[end])) end += 1
    if (end - at > MAX_PLAIN_BYTES) throw this.#notJson()
    if (end === bytes.length) return undefined
    const written = bytes.toString('utf8', at, end)
    const value = parseJson(written)
    if (value === undefined) throw this.#notJson()
    this.#rules.checkValue(this.#column, value)
    text.append(`${this.#column > 0 ? '\t' : ''}${toPlainField(value)}`)
    this.#place = 'behind a value'
    this.#column += 1
    return end
  }

  #readString(bytes: Buffer, start: number, text: CopyBuffer): number | undefined {
    const end = endOfPiece(bytes, start)
    const isClosed = bytes[end] === QUOTE
    if (end === start && !isClosed) return undefined
    const value = parseJson(`"${bytes.toString('utf8', start, end)}"`)
    if (typeof value !== 'string') throw this.#notJson()
    this.#rules.checkValue(this.#column, value)
    text.append(escapeText(value))
    if (!isClosed) return end
    this.#place = 'behind a value'
    this.#column += 1
    return end + 1
  }

  #readBehindValue(byte: number | undefined, at: number, text: CopyBuffer): number {
    if (byte === COMMA) {
      this.#place = 'value'
    } else if (byte === CLOSING_BRACKET) {
      if (this.#column !== this.#rules.columns) throw this.#wrongNumber(String(this.#column))
      text.append('\n')
      this.#place = 'behind the array'
    } else {
      throw this.#notJson()
    }
    return at + 1
  }

  #wrongNumber = (found: string): Error =>
    this.#rules.fault(`has ${found} values, but the table has ${this.#rules.columns} columns`)

  #notJson = (): Error => this.#rules.fault('is not JSON; expected "row" or "rowsEnd"')
}

/** A value that is no string, as a field of COPY. */
function toPlainField(value: unknown): string {
  if (value === null) return '\\N'
  if (typeof value === 'number') return toNumberText(value)
  return value === true ? 't' : 'f'
}

function skipSpaces(bytes: Buffer, start: number): number {
  let at = start
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === RETURN) at += 1
  return at
}

const isDelimiter = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSING_BRACKET || byte === SPACE || byte === TAB || byte === RETURN || byte === NEWLINE
