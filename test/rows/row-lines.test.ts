import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GrowingBuffer } from '../../src/lib/growing-buffer.ts'
import { LongRowWriter } from '../../src/rows/long-row.ts'
import { HEADER_BYTES } from '../../src/rows/message-reader.ts'
import { rowLinesWriter } from '../../src/rows/row-lines.ts'
import type { ValueForm } from '../../src/rows/value-form.ts'

const text = fc.option(
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', '\n', '\u0001', '\u001f', ' ', '\u007f', 'é', '東', 'a'),
      maxLength: 60,
    }),
    fc.string({ unit: fc.integer({ min: 0, max: 0x5f }).map((code) => String.fromCharCode(code)), maxLength: 60 }),
  ),
)
const number = fc.option(fc.oneof(fc.double(), fc.integer(), fc.constantFrom(Number.NaN)).map(String))
const boolean = fc.option(fc.constantFrom('t', 'f'))
const plain = fc.option(
  fc.oneof(
    fc.uuid(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  ),
)

const FORMS: readonly ValueForm[] = ['string', 'number', 'boolean', 'plain', 'string']
const row = fc.tuple(text, number, boolean, plain, text)

/** Each value behind its length, as PostgreSQL sends them. */
const valuesOf = (values: readonly (string | null)[]): Buffer =>
  Buffer.concat(
    values.flatMap((text) => {
      const bytes = Buffer.from(text ?? '')
      const length = Buffer.alloc(4)
      length.writeInt32BE(text === null ? -1 : bytes.length)
      return [length, bytes]
    }),
  )

/** Adds a row, whose message is cut into pieces of so many bytes. */
function addInPieces(writer: LongRowWriter, message: Buffer, size: number): void {
  writer.begin(message.length - HEADER_BYTES)
  for (let at = HEADER_BYTES; at < message.length; at += size) {
    const piece = message.subarray(at, at + size)
    const isWhole = writer.add(Buffer.concat([Buffer.from('"'), piece, Buffer.from('"')]), 1, 1 + piece.length)
    expect(isWhole).toBe(at + size >= message.length)
  }
}

/** A row behind the number of its range. */
function messageOf(range: number, values: readonly (string | null)[]): Buffer {
  const content = valuesOf([String(range), ...values])
  const header = Buffer.from('D....##')
  header.writeInt32BE(content.length + 6, 1)
  header.writeInt16BE(values.length + 1, 5)
  return Buffer.concat([header, content])
}

const lineOf = (values: readonly (string | null)[]): string =>
  `{"row":[${values.map((value, column) => jsonOf(value, FORMS[column])).join(', ')}]}\n`

/** Of text in the bytes that PostgreSQL can have, which are whole characters. */
function jsonOf(value: string | null, form: ValueForm | undefined): string {
  if (value === null) return 'null'
  if (form === 'boolean') return String(value === 't')
  const isNumber = form === 'number' && Number.isFinite(Number(value))
  return isNumber ? value : JSON.stringify(Buffer.from(value).toString())
}

describe('a line is what JSON has for the values', () => {
  test('of a row of any length, wherever it is cut, whatever stands around the pieces', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 1, max: 80 }), (rows, size) => {
        const lines = new GrowingBuffer()
        const ranges: number[] = []
        const writer = new LongRowWriter(FORMS, lines, (range) => ranges.push(range))
        for (const [at, values] of rows.entries()) addInPieces(writer, messageOf(at * 1000, values), size)
        expect(lines.take().now.toString()).toBe(rows.map(lineOf).join(''))
        expect(ranges).toEqual(rows.map((_, at) => at * 1000))
      }),
    )
  })

  test('of rows one after the other, as far as they are whole and of one range, whatever stands behind them', () => {
    const other = messageOf(8, ['', '1', 't', '', null])
    const behinds = [Buffer.alloc(0), Buffer.from('Z\0\0\0\u0005I'), other, Buffer.from('D\0')]
    const write = rowLinesWriter(FORMS)
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const messages = Buffer.concat(rows.map((values) => messageOf(7, values)))
        const cut = messageOf(7, rows[0] ?? []).subarray(0, -1)
        for (const behind of [...behinds, cut]) {
          const { lines, ...taken } = write(Buffer.concat([Buffer.from('#'), messages, behind]), 1)
          expect(lines.toString()).toBe(rows.map(lineOf).join(''))
          expect(taken).toEqual({ range: 7, rows: rows.length, end: 1 + messages.length })
        }
      }),
    )
  })

  test('of rows that need more room than there is at a time', () => {
    const values = ['\u0001'.repeat(50_000), '1', 't', '', '']
    const messages = Buffer.concat(Array.from({ length: 9 }, () => messageOf(3, values)))
    const write = rowLinesWriter(FORMS)
    let at = 0
    let lines = ''
    while (at < messages.length) {
      const taken = write(messages, at)
      lines += taken.lines.toString()
      at = taken.end
    }
    expect(lines).toBe(lineOf(values).repeat(9))
  })
})

describe('a message that does not hold the values that it says is refused', () => {
  const good = messageOf(7, ['text', '1', 't', 'plain', 'text'])
  const changed = (change: (message: Buffer) => void): Buffer => {
    const message = Buffer.from(good)
    change(message)
    return message
  }
  const WRONG = [
    ['too many values', changed((message) => message.writeInt16BE(7, 5))],
    ['too few values', changed((message) => message.writeInt16BE(5, 5))],
    ['a range that ends behind it', changed((message) => message.writeInt32BE(1_000_000, 7))],
    ['a range of no length', changed((message) => message.writeInt32BE(-5, 7))],
    ['a value that ends behind it', changed((message) => message.writeInt32BE(1_000, 12))],
    ['a value that takes the length of the next', changed((message) => message.writeInt32BE(5, 12))],
    ['a last value that ends before it', changed((message) => message.writeInt32BE(1, message.length - 8))],
    ['nothing', Buffer.from('D\0\0\0\u0004')],
    ['less than nothing', Buffer.from('D\0\0\0\0\0\0\0\0\0\0\0\0\0\0')],
  ] as const
  test.each(WRONG)('%s', (_, message) => {
    const write = rowLinesWriter(FORMS)
    // What it would read behind itself is somebody else's.
    const { end } = write(Buffer.concat([good, good]), 0)
    expect(end).toBe(2 * good.length)
    expect(() => write(message, 0)).toThrow('does not hold the values')
  })
  test.each(WRONG.filter(([, message]) => message.length > HEADER_BYTES))('%s, in pieces', (_, message) => {
    const writer = new LongRowWriter(FORMS, new GrowingBuffer(), () => undefined)
    expect(() => addInPieces(writer, message, 10)).toThrow('does not hold the values')
  })
})
