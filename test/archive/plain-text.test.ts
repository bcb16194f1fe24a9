import { expect, test } from 'vitest'
import { copyPlain } from '../../src/copy/plain-text.ts'
import { GrowingBuffer, viewOf } from '../../src/lib/growing-buffer.ts'

const LONGEST = 11
const BYTES = Array.from({ length: 256 }, (_, byte) => byte)

/** Where copying ends, and what was copied, of a block that ends with a newline. */
function copied(block: Buffer, start: number): { readonly end: number; readonly text: Buffer } {
  const rows = new GrowingBuffer()
  rows.reserve(block.length)
  const end = copyPlain(viewOf(block), start, block.length, rows)
  return { end, text: rows.take().copy() }
}

const hasMeaning = (byte: number): boolean => byte < 0x20 || byte === 0x22 || byte === 0x5c

test.each([
  ['a letter', 'x'],
  ['the last byte below which all are control characters', ' '],
  ['a byte beside a quote', '!'],
  ['a byte of a longer character', 'é'],
])('whichever byte stands behind %s, and wherever, it is copied just if it stands for itself', (_, filler) => {
  const text = Buffer.from(filler.repeat(LONGEST))
  for (const byte of BYTES) {
    for (let at = 0; at < text.length; at += 1) {
      const block = Buffer.concat([text.subarray(0, at), Buffer.from([byte]), text, Buffer.from('\n')])
      const end = hasMeaning(byte) ? at : block.length - 1
      expect(copied(block, 0)).toEqual({ end, text: block.subarray(0, end) })
    }
  }
})

test('copying begins anywhere, whatever stands before', () => {
  const block = Buffer.from('"\\\u0001some words, and a quote" behind them\n')
  for (let start = 3; start < block.indexOf('"', 3); start += 1) {
    expect(copied(block, start)).toEqual({
      end: block.indexOf('"', 3),
      text: Buffer.from(block.subarray(start, block.indexOf('"', 3))),
    })
  }
})
