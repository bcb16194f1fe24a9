import fc from 'fast-check'
import { expect, test } from 'vitest'
import { copyBinary } from '../../src/copy/copy-encoders.ts'

const COLUMNS = [{ name: 'c', type: 'double precision' }]

/** What comes before the eight bytes of a double in a row that has nothing else: how many columns, and how many bytes. */
const BEFORE = 6

/** The doubles that COPY gets for numbers of JSON. */
function doublesOf(numbers: readonly string[]): number[] {
  const { rows } = copyBinary(1_000_000)
  rows.begin(COLUMNS, { all: new Set(), enums: new Set() })
  expect(rows.format).toBe('binary')
  const scanned = rows.scan(Buffer.from(numbers.map((number) => `{"row":[${number}]}\n`).join('')), 0)
  expect(scanned.rows).toBe(numbers.length)
  const { now: bytes } = rows.take()
  return numbers.map((_, row) => bytes.readDoubleBE(row * (BEFORE + 8) + BEFORE))
}

const digit = fc.integer({ min: 0, max: 9 })

/** Numbers of up to 22 digits, with a point anywhere, or without one. */
const decimal = fc
  .tuple(fc.boolean(), fc.array(digit, { minLength: 1, maxLength: 22, size: 'max' }), fc.nat({ max: 22 }))
  .map(([isNegative, digits, scale]) => {
    const whole = digits
      .slice(0, Math.max(0, digits.length - scale))
      .join('')
      .replace(/^0+(?=\d)/, '')
    const fraction = digits.slice(Math.max(0, digits.length - scale)).join('')
    return `${isNegative ? '-' : ''}${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`
  })

/** What lies in the middle of two doubles, or as near to it as some digits can say. */
const middle = fc
  .tuple(
    fc.bigInt({ min: 2n ** 52n, max: 2n ** 53n - 1n }),
    fc.integer({ min: 0, max: 10 }),
    fc.constantFrom(-1n, 0n, 1n),
  )
  .map(([size, exponent, more]) => String(((2n * size + 1n) << BigInt(exponent)) + more))

test('a double is the nearest one to its decimal number, as JavaScript reads it', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(decimal, middle), { maxLength: 100, size: 'max' }), (numbers) => {
      expect(doublesOf(numbers)).toEqual(numbers.map(Number))
    }),
    { numRuns: Number(process.env.DOUBLES ?? 200) },
  )
})

test.each([
  ['9007199254740993', 9007199254740992],
  ['9007199254740995', 9007199254740996],
  ['0.1000000000000000055', 0.1],
  ['-0.0000000000000000', -0],
])('%s is %d', (number, double) => {
  expect(doublesOf([number])).toEqual([double])
})
