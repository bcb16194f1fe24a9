import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HEADER_BYTES, MessageReader } from '../../src/rows/message-reader.ts'

const message = (kind: string, content: Uint8Array): Buffer => {
  const header = Buffer.alloc(5)
  header.write(kind)
  header.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([header, content])
}

/** What is taken of bytes that come in pieces: rows without their header, other messages whole. */
function takenOf(pieces: readonly Buffer[]): string[] {
  const taken: string[] = []
  const reader = new MessageReader({
    rows(block, start, end) {
      taken.push(`row ${block.toString('hex', start + HEADER_BYTES, end)}`)
      return end
    },
    other: (whole) => taken.push(whole.toString('hex')),
  })
  for (const piece of pieces) reader.take(piece)
  return taken
}

const messages = fc.array(fc.tuple(fc.constantFrom('D', 'C', 'Z', 'N'), fc.uint8Array({ maxLength: 30 })), {
  maxLength: 12,
})

test('messages are found wherever the bytes that come are cut', () => {
  const cuts = fc.array(fc.nat(400), { maxLength: 20 })
  fc.assert(
    fc.property(messages, cuts, (sent, at) => {
      const bytes = Buffer.concat(sent.map(([kind, content]) => message(kind, content)))
      const ends = [0, ...at.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length]
      const pieces = ends.slice(1).map((end, index) => bytes.subarray(ends[index], end))
      const expected = sent.map(([kind, content]) => {
        const hex = Buffer.from(content).toString('hex')
        return kind === 'D' ? `row ${hex}` : message(kind, content).toString('hex')
      })
      expect(takenOf(pieces)).toEqual(expected)
    }),
  )
})

test('a message that comes byte by byte is found once', () => {
  const bytes = message('D', Buffer.from('harbour'))
  expect(takenOf([...bytes].map((byte) => Buffer.of(byte)))).toEqual([`row ${Buffer.from('harbour').toString('hex')}`])
})

test('messages that are longer than others come whole, too, between others', () => {
  const sent = [message('D', Buffer.alloc(100, 1)), message('D', Buffer.alloc(200_000, 2)), message('C', Buffer.of(3))]
  const bytes = Buffer.concat(sent)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 50_000) }, (_, index) =>
    bytes.subarray(50_000 * index, 50_000 * (index + 1)),
  )
  expect(takenOf(pieces)).toEqual([`row ${'01'.repeat(100)}`, `row ${'02'.repeat(200_000)}`, sent[2]?.toString('hex')])
})
