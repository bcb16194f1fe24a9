import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrowingBuffer, viewOf } from '../../src/lib/growing-buffer.ts'
import { RowLines } from '../../src/rows/row-lines.ts'

const value = fc.option(
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u0001', '\u001f', ' ', 'é', '東', 'a'), maxLength: 40 }),
    // As many as make a row too long for the room that each of its bytes could take at most.
    fc.constantFrom('"long" '.repeat(3_000)),
  ),
)

/** Each value behind its length, as PostgreSQL sends them. */
const messageOf = (values: readonly (string | null)[]): Buffer =>
  Buffer.concat(
    values.flatMap((text) => {
      const bytes = Buffer.from(text ?? '')
      const length = Buffer.alloc(4)
      length.writeInt32BE(text === null ? -1 : bytes.length)
      return [length, bytes]
    }),
  )

function linesOf(rows: readonly (readonly (string | null)[])[], behind: Buffer): string {
  const lines = new GrowingBuffer()
  for (const values of rows) {
    const message = messageOf(values)
    const block = Buffer.concat([message, behind])
    new RowLines(Array<'string'>(values.length).fill('string'), lines).add(block, viewOf(block), 0, message.length)
  }
  return lines.take().now.toString()
}

test('a line is what JSON has for the values, whatever stands behind them in memory', () => {
  fc.assert(
    fc.property(fc.array(fc.array(value, { maxLength: 5 }), { maxLength: 5 }), (rows) => {
      const expected = rows.map((values) => `{"row":[${values.map(jsonOf).join(', ')}]}\n`).join('')
      for (const behind of [Buffer.alloc(0), Buffer.from('"""'), Buffer.from('""""'), Buffer.alloc(20, 0xff)]) {
        expect(linesOf(rows, behind)).toBe(expected)
      }
    }),
  )
})

/** In the bytes that PostgreSQL can have, which are whole characters. */
const jsonOf = (text: string | null): string => JSON.stringify(text === null ? null : Buffer.from(text).toString())
