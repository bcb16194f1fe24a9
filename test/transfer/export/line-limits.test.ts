import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLineLimit } from '../../../src/transfer/export/line-limits.ts'

const LIMITS = { maxLineBytes: 12, maxStructureLineBytes: 12 }

function errorOf(pieces: readonly string[]): string {
  const limited = createLineLimit('row', 'a row', LIMITS)
  try {
    for (const piece of pieces) limited(Buffer.from(piece))
    return ''
  } catch (error) {
    return String(error)
  }
}

test('a line that is too long is refused with its length, wherever lines are cut', () => {
  const lines = fc.array(fc.integer({ min: 0, max: 16 }), { maxLength: 8 })
  const cuts = fc.array(fc.nat(150), { maxLength: 10 })
  fc.assert(
    fc.property(lines, cuts, (lengths, at) => {
      const text = lengths.map((length) => `${'x'.repeat(length)}\n`).join('')
      const ends = [0, ...at.toSorted((a, b) => a - b), text.length]
      const pieces = ends.slice(1).map((end, index) => text.slice(ends[index], end))
      const tooLong = lengths.filter((length) => length > LIMITS.maxLineBytes)
      const [, bytes] = /a line of (\d+) bytes/.exec(errorOf(pieces)) ?? []
      if (tooLong.length > 0) expect(tooLong).toContain(Number(bytes))
      else expect(bytes).toBeUndefined()
    }),
  )
})
