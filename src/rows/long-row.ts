import { copyPlain } from '../copy/plain-text.ts'
import { type GrowingBuffer, viewOf } from '../lib/growing-buffer.ts'
import { escapeOf, PREFIX, SUFFIX } from './row-text.ts'
import { BOOLEAN, codesOf, isFiniteNumber, NUMBER, type ValueForm } from './value-form.ts'

const [QUOTE, COMMA] = [Buffer.from('"'), Buffer.from(', ')]
const [NULL, TRUE, FALSE] = [Buffer.from('null'), Buffer.from('true'), Buffer.from('false')]

/** What a value is that is true. */
const LETTER_T = 0x74

/** A row begins with the number of its values, two bytes; the length of each takes four. */
const [COUNT_BYTES, LENGTH_BYTES] = [2, 4]

/** How long a value is that PostgreSQL sends no bytes of. */
const NULL_LENGTH = -1

/** How much longer a byte may become. */
const MAX_ESCAPE_BYTES = 6

const NOTHING = Buffer.alloc(0)

/**
 * Writes a row of any length as a line of an archive, as `rowLinesWriter` writes shorter ones: piece by piece as it comes, so that it
 * neither stands in memory as a whole nor holds the event loop.
 */
export class LongRowWriter {
  /** By column. */
  readonly #forms: Uint8Array
  readonly #lines: GrowingBuffer
  readonly #begun: (range: number) => void
  /** What there is to do until the row is written; each step ends where more of the row has to come. */
  #steps: Generator<undefined, void, undefined> = this.#row()
  /** How much of the row no step has asked for. */
  #left = 0
  /** The latest piece, and where its unused bytes begin and end. */
  #piece: Buffer = NOTHING
  #words = viewOf(NOTHING)
  #at = 0
  #end = 0

  /**
   * @param forms by column. @param lines gets the line. @param begun is called before the first byte of a line is written, with the
   *   number of the row's range.
   */
  constructor(forms: readonly ValueForm[], lines: GrowingBuffer, begun: (range: number) => void) {
    this.#forms = codesOf(forms)
    this.#lines = lines
    this.#begun = begun
  }

  /** Begins a row. @param bytes how many its message has, without the header. */
  begin(bytes: number): void {
    this.#left = bytes
    this.#steps = this.#row()
  }

  /**
   * Writes what can be written of the next piece of the row's message.
   *
   * @returns whether the line is whole now. @throws where the message does not hold the values that it says.
   */
  add(block: Buffer, start: number, end: number): boolean {
    this.#piece = block
    this.#words = viewOf(block)
    this.#at = start
    this.#end = end
    return this.#steps.next().done === true
  }

  *#row(): Generator<undefined, void, undefined> {
    const head = yield* this.#gather(COUNT_BYTES + LENGTH_BYTES)
    if (head.readInt16BE(0) !== this.#forms.length + 1) throw wrongRow()
    const range = yield* this.#gather(head.readInt32BE(COUNT_BYTES))
    this.#begun(Number(range.toString('latin1')))
    this.#write(PREFIX)
    for (let column = 0; column < this.#forms.length; column += 1) {
      if (column > 0) this.#write(COMMA)
      const length = (yield* this.#gather(LENGTH_BYTES)).readInt32BE(0)
      if (length === NULL_LENGTH) this.#write(NULL)
      else yield* this.#value(column, length)
    }
    if (this.#left > 0) throw wrongRow()
    this.#write(SUFFIX)
  }

  *#value(column: number, length: number): Generator<undefined, void, undefined> {
    const form = this.#forms[column]
    if (form === BOOLEAN) {
      const [letter] = yield* this.#gather(length)
      this.#write(letter === LETTER_T ? TRUE : FALSE)
      return
    }
    if (form === NUMBER) {
      const digits = yield* this.#gather(length)
      const quote = isFiniteNumber(viewOf(digits), 0) ? NOTHING : QUOTE
      for (const part of [quote, digits, quote]) this.#write(part)
      return
    }
    this.#write(QUOTE)
    yield* this.#text(length)
    this.#write(QUOTE)
  }

  /** The next bytes of the row, in one piece: few of them. */
  *#gather(bytes: number): Generator<undefined, Buffer, undefined> {
    this.#ask(bytes)
    const start = this.#at
    this.#at += bytes
    if (this.#at <= this.#end) return this.#piece.subarray(start, this.#at)
    const whole = Buffer.allocUnsafe(bytes)
    let filled = this.#piece.copy(whole, 0, start, this.#end)
    while (filled < bytes) {
      yield
      const copied = this.#piece.copy(whole, filled, this.#at, this.#end)
      this.#at += copied
      filled += copied
    }
    return whole
  }

  /** Writes the next bytes of the row as they stand between quotes. */
  *#text(bytes: number): Generator<undefined, void, undefined> {
    this.#ask(bytes)
    for (let left = bytes; left > 0; ) {
      if (this.#at === this.#end) yield
      const end = Math.min(this.#at + left, this.#end)
      left -= end - this.#at
      this.#writeText(end)
    }
  }

  #ask(bytes: number): void {
    if (bytes < 0 || bytes > this.#left) throw wrongRow()
    this.#left -= bytes
  }

  #write(bytes: Buffer): void {
    const lines = this.#lines
    lines.reserve(bytes.length)
    lines.length += bytes.copy(lines.bytes, lines.length)
  }

  /** @param after where to stop in the piece. */
  #writeText(after: number): void {
    const [lines, words] = [this.#lines, this.#words]
    lines.reserve(after - this.#at)
    let at = this.#at
    for (; ; at += 1) {
      at = copyPlain(words, at, after, lines)
      if (at === after) break
      const written = escapeOf(words.getUint8(at))
      lines.reserve(MAX_ESCAPE_BYTES + after - at)
      for (let index = 0; index < written.length; index += 1) lines.bytes[lines.length++] = written[index] as number
    }
    this.#at = at
  }
}

/** For a message whose lengths do not fit together. */
export const wrongRow = (): Error => new Error('PostgreSQL sent a row that does not hold the values it should')
