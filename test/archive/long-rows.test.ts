import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RowCheck } from '../../src/archive/check-row.ts'
import type { RowValue } from '../../src/archive/lines.ts'
import { beginsAsRow, LongRow } from '../../src/archive/long-row.ts'
import { readArchive } from '../../src/archive/read-archive.ts'
import type { RowColumn } from '../../src/archive/row-encoder.ts'
import { copyBinary, copyText } from '../../src/copy/copy-encoders.ts'
import { toCopyText } from '../../src/copy/text-fields.ts'
import { buildArchive, column } from '../support/archives/archive-builder.ts'
import { cutAt, streamOf } from '../support/archives/archive-sample.ts'

const MEBIBYTE = 1024 * 1024
const fault = (detail: string): Error => new Error(detail)
const columnOf = (type: string): RowColumn => ({ name: 'c', type })

/** What is made of a line that comes in pieces; undefined where it is refused. */
function readInPieces(pieces: readonly Buffer[], columns: readonly RowColumn[]): string | undefined {
  const { rows } = copyText(Number.POSITIVE_INFINITY)
  const row = new LongRow(new RowCheck(columns, fault), rows, fault)
  try {
    for (const piece of pieces) row.read(piece)
  } catch {
    return undefined
  }
  return row.isWhole ? rows.take().now.toString() : undefined
}

/** What is made of it as a whole. */
function parsed(line: Buffer, columns: readonly RowColumn[]): string | undefined {
  const check: RowCheck = new RowCheck(columns, fault)
  try {
    const { row, ...others }: { row: unknown } = JSON.parse(line.toString())
    check.checkRow(row)
    return Object.keys(others).length === 0 ? toCopyText(row) : undefined
  } catch {
    return undefined
  }
}

const character = fc.oneof(fc.constantFrom(...'"\\/\b\f\n\r\t\u0001\u2028', 'é', '東', '🎸', 'x', ' '), fc.string())
const value = fc.oneof(
  fc.array(character, { maxLength: 30 }).map((some) => some.join('')),
  fc.constantFrom<RowValue>(null, true, false, 0, -0, 12.5, -3e-7, 1e300, 42),
)
const column1 = fc.constantFrom('integer', 'text', 'jsonb', 'double precision').map(columnOf)
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 })

/** As JSON, with every character that is no ASCII written as an escape. */
const escaped = (json: string): string =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

test('a row that comes in pieces is read as it is read as a whole, wherever it is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(value, column1), { maxLength: 6 }),
      fc.constantFrom('', ' ', '\t '),
      fc.boolean(),
      cuts,
      (cells, space, isEscaped, positions) => {
        const columns = cells.map(([, each]) => each)
        const json = `{"row":${space}[${cells.map(([each]) => JSON.stringify(each)).join(`,${space}`)}]${space}}`
        const line = Buffer.from(`${isEscaped ? escaped(json) : json}\n`)
        expect(readInPieces(cutAt(line, positions), columns)).toBe(parsed(line, columns))
      },
    ),
    { numRuns: 300 },
  )
})

test('a row that was changed is read, or refused, as JSON.parse reads or refuses it, wherever it is cut', () => {
  const piece = fc.constantFrom(...'{}[]:,"\\ \u0000eE+-.019a', '\\ud83c', '\\udfb8', '\\u0000', '"row":', 'null')
  fc.assert(
    fc.property(
      value,
      value,
      fc.nat(),
      fc.nat({ max: 3 }),
      piece,
      cuts,
      (first, second, position, length, by, positions) => {
        const columns = ['text', 'double precision'].map(columnOf)
        const json = JSON.stringify({ row: [first, second] })
        const at = position % json.length
        const line = Buffer.from(`${json.slice(0, at)}${by}${json.slice(at + length)}\n`)
        if (!beginsAsRow(line)) return
        expect(readInPieces(cutAt(line, positions), columns), String(line)).toBe(parsed(line, columns))
      },
    ),
    { numRuns: 1_000 },
  )
})

test.each([
  ['just held', MEBIBYTE - 60],
  ['just not held any more', MEBIBYTE + 1],
  ['of many pieces', 5 * MEBIBYTE],
])('rows around one that is %s are read as they are', async (_, bytes) => {
  const long = '"\\\n é東🎸'.repeat(Math.ceil(bytes / 18)).slice(0, bytes)
  const rows: RowValue[][] = [['before'], [long], ['between'], ['a'.repeat(bytes)], ['behind']]
  const archive = buildArchive({
    slug: 'shop',
    stages: [{ tables: [{ name: 't', columns: [column('c', 'text')], rows }] }],
  })
  for (const binary of [false, true]) {
    const texts: Buffer[] = []
    let count = 0
    for await (const item of readArchive(
      streamOf(...cutAt(archive, [0.1, 0.3, 0.35, 0.8])),
      binary ? copyBinary : copyText,
    )) {
      if (item.kind !== 'row') continue
      count += item.count
      if (item.format === 'text') texts.push(item.bytes.copy())
    }
    expect(count).toBe(rows.length)
    const written = rows.map((row) => toCopyText(row)).join('')
    const isRead = binary
      ? written.endsWith(Buffer.concat(texts).toString())
      : Buffer.concat(texts).toString() === written
    expect(isRead).toBe(true)
  }
})

test('a row that is longer than the longest that is read is refused, however long it goes on', async () => {
  const archive = buildArchive({
    slug: 'shop',
    stages: [{ tables: [{ name: 't', columns: [column('c', 'text')], rows: [['a'.repeat(9 * MEBIBYTE)]] }] }],
  })
  const read = async (maxLineBytes: number): Promise<void> => {
    for await (const item of readArchive(streamOf(archive), copyText, { maxLineBytes }))
      expect(item.kind).toBeTypeOf('string')
  }
  await read(10 * MEBIBYTE)
  for (const most of [1, 5, 8]) {
    await expect(read(most * MEBIBYTE)).rejects.toThrow(`line 6: is longer than ${most * MEBIBYTE} bytes`)
  }
})
