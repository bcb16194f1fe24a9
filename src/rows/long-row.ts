import { copyPlain } from '../copy/plain-text.ts'
import { type GrowingBuffer, viewOf } from '../lib/growing-buffer.ts'
import { escapeOf, PREFIX, roomFor, SUFFIX } from './row-text.ts'
import { BOOLEAN, codesOf, isFiniteNumber, NUMBER, type ValueForm } from './value-form.ts'

const [QUOTE, COMMA, SPACE, LETTER_T] = [0x22, 0x2c, 0x20, 0x74]
const [NULL, TRUE, FALSE] = [Buffer.from('null'), Buffer.from('true'), Buffer.from('false')]

/** How long a value is that PostgreSQL sends no bytes of. */
const NULL_LENGTH = -1

/** How much longer a byte may become. */
const MAX_ESCAPE_BYTES = 6

/** Writes a row of any length as a line of an archive, as `rowLinesWriter` writes shorter ones. */
export class LongRowWriter {
  /** By column. */
  readonly #forms: Uint8Array
  readonly #lines: GrowingBuffer

  /** @param forms by column. @param lines gets them. */
  constructor(forms: readonly ValueForm[], lines: GrowingBuffer) {
    this.#forms = codesOf(forms)
    this.#lines = lines
  }

  /** @param block has the values, each behind its length. @param start where they begin. @param end where they end. */
  add(block: Buffer, start: number, end: number): void {
    const words = viewOf(block)
    const lines = this.#lines
    const forms = this.#forms
    // For what takes more than its own bytes, `#addText` makes room.
    lines.reserve(end - start + roomFor(forms.length))
    // Not by way of the fields of `lines`, which takes three times as long.
    let { bytes, length: to } = lines
    for (let index = 0; index < PREFIX.length; index += 1) bytes[to++] = PREFIX[index] as number
    let at = start
    for (let column = 0; column < forms.length; column += 1) {
      if (column > 0) {
        bytes[to++] = COMMA
        bytes[to++] = SPACE
      }
      const length = words.getInt32(at)
      at += 4
      if (length === NULL_LENGTH) {
        for (let index = 0; index < NULL.length; index += 1) bytes[to++] = NULL[index] as number
        continue
      }
      const form = forms[column]
      const after = at + length
      if (length < 0 || after > end) throw wrongRow()
      if (form === NUMBER && isFiniteNumber(words, at)) {
        while (at < after) bytes[to++] = block[at++] as number
      } else if (form === BOOLEAN) {
        const word = block[at] === LETTER_T ? TRUE : FALSE
        for (let index = 0; index < word.length; index += 1) bytes[to++] = word[index] as number
      } else {
        bytes[to++] = QUOTE
        lines.length = to
        this.#addText(words, at, after, end)
        ;({ bytes, length: to } = lines)
        bytes[to++] = QUOTE
      }
      at = after
    }
    for (let index = 0; index < SUFFIX.length; index += 1) bytes[to++] = SUFFIX[index] as number
    lines.length = to
  }

  /** Writes what stands between quotes. @param end of the row. */
  #addText(words: DataView, start: number, after: number, end: number): void {
    const lines = this.#lines
    for (let at = start; ; at += 1) {
      at = copyPlain(words, at, after, lines)
      if (at === after) return
      const written = escapeOf(words.getUint8(at))
      lines.reserve(MAX_ESCAPE_BYTES + end - at + roomFor(this.#forms.length))
      for (let index = 0; index < written.length; index += 1) lines.bytes[lines.length++] = written[index] as number
    }
  }
}

/** For a message whose lengths do not fit together. */
export const wrongRow = (): Error => new Error('PostgreSQL sent a row that does not hold the values it should')
