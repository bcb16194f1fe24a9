import { parseJson } from '../lib/parse-json.ts'
import type { RowCheck } from './check-row.ts'
import { expectedAt } from './order.ts'
import type { RowEncoder } from './row-encoder.ts'
import { PieceReader } from './string-pieces.ts'

/** Longer than any number or word that stands in a row. */
const MAX_PLAIN_BYTES = 1_024

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

const BEGINNING = /^[ \t]*\{[ \t]*"row"[ \t]*:[ \t]*/

/** Whether a line that begins so is a row, as far as that can be seen. */
export const beginsAsRow = (beginning: Buffer): boolean => BEGINNING.test(beginning.toString('latin1'))

/** Where in its line the reading is. */
type State =
  | 'beginning'
  | 'array'
  | 'first value'
  | 'value'
  | 'string'
  | 'behind a value'
  | 'behind the array'
  | 'end'
  | 'ended'

/** Reads one row piece by piece, whatever its size, and has it encoded as text. */
export class LongRow {
  readonly #check: RowCheck
  readonly #fault: (detail: string) => Error
  readonly #encoder: RowEncoder
  readonly #pieces: PieceReader
  #state: State = 'beginning'
  #column = 0

  /** @param check of the rows of its table. @param fault makes what is thrown where something is wrong. */
  constructor(check: RowCheck, encoder: RowEncoder, fault: (detail: string) => Error) {
    this.#check = check
    this.#encoder = encoder
    this.#fault = fault
    this.#pieces = new PieceReader(2 * MAX_PLAIN_BYTES, fault, this.#notJson)
    encoder.useText()
  }

  /** Whether its newline has been read. */
  get isWhole(): boolean {
    return this.#state === 'ended'
  }

  /** @param piece what follows; of a few hundred KiB, so that it takes no time. @throws a `fault`. */
  read(piece: Buffer): void {
    this.#pieces.read(piece, (bytes, start) => this.#step(bytes, start))
  }

  /** @returns the position behind what was read; `start` where nothing more can be told. */
  #step(bytes: Buffer, start: number): number {
    if (this.#state === 'string') return this.#readString(bytes, start) ?? start
    if (this.#state === 'ended') return start
    const at = skipSpaces(bytes, start)
    return (at < bytes.length ? this.#readToken(bytes, at) : undefined) ?? at
  }

  #readToken(bytes: Buffer, at: number): number | undefined {
    switch (this.#state) {
      case 'beginning':
        return this.#readBeginning(bytes, at)
      case 'array':
        if (bytes[at] !== OPENING_BRACKET) throw this.#fault('a row must be an array')
        this.#state = 'first value'
        return at + 1
      case 'first value':
        if (bytes[at] === CLOSING_BRACKET) return this.#readBehindValue(CLOSING_BRACKET, at)
        this.#state = 'value'
        return this.#readValue(bytes, at)
      case 'value':
        return this.#readValue(bytes, at)
      case 'behind a value':
        return this.#readBehindValue(bytes[at], at)
      case 'behind the array':
        if (bytes[at] !== CLOSING_BRACE) throw this.#notJson()
        this.#state = 'end'
        return at + 1
      case 'end':
        if (bytes[at] !== NEWLINE) throw this.#notJson()
        this.#state = 'ended'
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
    this.#state = 'array'
    return start + beginning.length
  }

  #readValue(bytes: Buffer, at: number): number | undefined {
    if (this.#column >= this.#check.columns) throw this.#check.wrongCount(`more than ${this.#check.columns}`)
    if (bytes[at] === QUOTE) {
      this.#encoder.beginValue(this.#column)
      this.#state = 'string'
      return at + 1
    }
    // None that a column takes, whatever is in it.
    if (bytes[at] === OPENING_BRACKET || bytes[at] === OPENING_BRACE) this.#check.checkValue(this.#column, {})
    let end = at
    while (end < bytes.length && !isDelimiter(bytes[end])) end += 1
    if (end - at > MAX_PLAIN_BYTES) throw this.#notJson()
    if (end === bytes.length) return undefined
    const written = bytes.toString('utf8', at, end)
    const value = parseJson(written)
    if (value === undefined) throw this.#notJson()
    this.#check.checkValue(this.#column, value)
    this.#encoder.beginValue(this.#column)
    if (typeof value !== 'string') this.#encoder.addPlain(value)
    this.#state = 'behind a value'
    this.#column += 1
    return end
  }

  #readString(bytes: Buffer, start: number): number | undefined {
    const piece = this.#pieces.readString(bytes, start)
    if (!piece) return undefined
    this.#check.checkValue(this.#column, piece.text)
    this.#encoder.addText(piece.text)
    if (piece.isClosed) {
      this.#state = 'behind a value'
      this.#column += 1
    }
    return piece.next
  }

  #readBehindValue(byte: number | undefined, at: number): number {
    if (byte === COMMA) {
      this.#state = 'value'
    } else if (byte === CLOSING_BRACKET) {
      if (this.#column !== this.#check.columns) throw this.#check.wrongCount(String(this.#column))
      this.#encoder.endRow()
      this.#state = 'behind the array'
    } else {
      throw this.#notJson()
    }
    return at + 1
  }

  #notJson = (): Error => this.#fault(`is not JSON; expected ${expectedAt('rows')}`)
}

function skipSpaces(bytes: Buffer, start: number): number {
  let at = start
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === RETURN) at += 1
  return at
}

const isDelimiter = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSING_BRACKET || byte === SPACE || byte === TAB || byte === RETURN || byte === NEWLINE
