import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePlainRow, RowCheck, takesNumbers } from '../../src/archive/check-row.ts'
import type { RowValue } from '../../src/archive/lines.ts'
import type { RowColumn } from '../../src/archive/row-encoder.ts'
import { scanRows } from '../../src/copy/scan-rows.ts'
import { textForm, toCopyText } from '../../src/copy/text-fields.ts'
import { GrowingBuffer } from '../../src/lib/growing-buffer.ts'

const TYPES = ['integer', 'double precision', 'text', 'numeric(10,2)', 'boolean', 'jsonb']

/** What the scanner makes of a block of lines. */
function scanned(block: Buffer, columns: readonly RowColumn[], maxLineBytes = 1_000_000) {
  const text = new GrowingBuffer()
  const result = scanRows(block, 0, { form: textForm(takesNumbers(columns)), maxLineBytes }, text)
  return { ...result, text: text.take().now.toString() }
}

/** What parsing and checking make of one line; undefined where they refuse it. */
function parsed(line: Buffer, columns: readonly RowColumn[]): string | undefined {
  const fault = (detail: string): Error => new Error(detail)
  const check: RowCheck = new RowCheck(columns, fault)
  const row = parsePlainRow(line.subarray(0, -1))
  try {
    check.checkRow(row)
    return toCopyText(row)
  } catch {
    return undefined
  }
}

const column = fc.constantFrom(...TYPES).map((type) => ({ name: 'c', type }))

const character = fc.oneof(
  fc.constantFrom(
    ...'"\\/\b\f\n\r\t\v\u0001\u001f\u007f\u0080\u2028\ud7ff\ue000\ufeff\uffff',
    'é',
    '東',
    '🎸',
    '\\.',
    '\\N',
  ),
  fc.string({ unit: 'binary', maxLength: 5 }),
)
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 0, 5e-324, 1e21, 1e20, 123456789012345, 999999999999999, 1234567890123456, -1.5, 1e-7),
)

/** Text as JSON, some of whose characters are escaped though they need not be. */
const asJson = (value: RowValue, escaped: boolean): string => {
  const json = JSON.stringify(Object.is(value, -0) ? '-0' : value)
  if (Object.is(value, -0)) return '-0'
  if (!escaped || typeof value !== 'string') return json
  return json
    .replace(/[^\\"]/gu, (char) =>
      /[\da-zA-Z]/.test(char)
        ? char
        : [...Array(char.length).keys()]
            .map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`)
            .join(''),
    )
    .replaceAll('/', '\\/')
}

const SPACES = ['', ' ', '  ']

/** A table's columns, and a row of it as it may be written. */
const rowLine = fc.array(column, { maxLength: 6 }).chain((columns) =>
  fc
    .record({
      values: fc.tuple(
        ...columns.map(({ type }) =>
          fc.oneof(
            fc.constantFrom(null, true, false),
            fc.array(character, { maxLength: 6 }).map((parts) => parts.join('').replaceAll('\0', '')),
            ...(takesNumbers([{ name: 'c', type }])[0] ? [number] : []),
          ),
        ),
      ),
      escaped: fc.boolean(),
      before: fc.constantFrom(...SPACES),
      after: fc.constantFrom(...SPACES),
    })
    .map(({ values, escaped, before, after }) => {
      const written = (values as RowValue[]).map((value) => `${before}${asJson(value, escaped)}${after}`)
      return { columns, line: Buffer.from(`{"row":[${written.join(',')}]}\n`) }
    }),
)

test('a row is read as JSON.parse reads it, whatever is in it and however it is written', () => {
  fc.assert(
    fc.property(rowLine, ({ columns, line }) => {
      const expected = parsed(line, columns)
      expect(expected).toBeDefined()
      expect(scanned(line, columns)).toEqual({ rows: 1, end: line.length, text: expected })
    }),
    { numRuns: 3_000 },
  )
})

const HOSTILE = [
  '"',
  '\\',
  '\\u',
  '\\ud83c',
  '\\u0000',
  '\\x',
  ',',
  '[',
  ']',
  '}',
  '{',
  ' ',
  '\t',
  '\r',
  '\0',
  '\u001f',
  '-',
  '+',
].concat(['.', 'e', 'E5', '0', '00', '9', '1e999', 'null', 'nul', 'true', 'NaN', 'é', '\x80', '0x1', '1_0', ':', "'"])

const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.constantFrom(0, 0, 0, 1, 4),
  added: fc.oneof(fc.constantFrom('', ...HOSTILE), fc.constantFrom(...'abc123', '1.5', ' ', 'é')),
})

test('a line that was changed is read as JSON.parse reads it, or left to it', () => {
  let accepted = 0
  fc.assert(
    fc.property(rowLine, fc.array(mutation, { minLength: 1, maxLength: 2 }), ({ columns, line }, mutations) => {
      let bytes = line.subarray(0, -1).toString('latin1')
      for (const { at, removed, added } of mutations) {
        const from = 8 + Math.floor(at * (bytes.length - 9))
        bytes = bytes.slice(0, from) + Buffer.from(added).toString('latin1') + bytes.slice(from + removed)
      }
      const changed = Buffer.from(`${bytes}\n`, 'latin1')
      fc.pre(isUtf8(changed))
      const { rows, end, text } = scanned(changed, columns)
      accepted += rows
      const expected = rows === 0 ? { end: 0, text: '' } : { end: changed.length, text: parsed(changed, columns) }
      expect({ end, text }).toEqual(expected)
    }),
    { numRuns: 5_000 },
  )
  expect(accepted).toBeGreaterThan(100)
})

test('bytes that are no row at all are left alone', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const block = Buffer.concat([Buffer.from('{"row":['), bytes.filter((byte) => byte !== 0x0a), Buffer.from('\n')])
      fc.pre(isUtf8(block))
      const columns = [{ name: 'c', type: 'double precision' }]
      const { rows, text } = scanned(block, columns)
      expect(text).toEqual(rows === 0 ? '' : parsed(block, columns))
    }),
    { numRuns: 3_000 },
  )
})

test('rows are read until one that is not plain, or too long', () => {
  const columns = [{ name: 'c', type: 'text' }]
  const [good, bad, long] = ['{"row":["a"]}\n', '{ "row":["a"]}\n', '{"row":["aaaaaaaaaa"]}\n']
  expect(scanned(Buffer.from(good + good + bad + good), columns)).toEqual({ rows: 2, end: 28, text: 'a\na\n' })
  expect(scanned(Buffer.from(good + long), columns, 22)).toMatchObject({ rows: 2 })
  expect(scanned(Buffer.from(good + long), columns, 21)).toEqual({ rows: 1, end: 14, text: 'a\n' })
})

test('numbers that become longer have room', () => {
  const columns = Array.from({ length: 100 }, () => ({ name: 'c', type: 'double precision' }))
  const line = Buffer.from(`{"row":[${columns.map(() => '1e20').join(',')}]}\n`)
  const block = Buffer.concat(Array.from({ length: 50 }, () => line))
  const { rows, text } = scanned(block, columns)
  expect(rows).toBe(50)
  expect(text).toBe(`${columns.map(() => '100000000000000000000').join('\t')}\n`.repeat(50))
})
