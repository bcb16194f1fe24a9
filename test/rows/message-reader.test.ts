import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HEADER_BYTES, MessageReader } from '../../src/rows/message-reader.ts'

const message = (kind: string, content: Uint8Array): Buffer => {
  const header = Buffer.alloc(5)
  header.write(kind)
  header.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([header, content])
}

/** What is taken of bytes that come in pieces: rows without their header, long ones behind their length, other messages whole. */
function takenOf(pieces: readonly Buffer[]): string[] {
  const taken: string[] = []
  const reader = new MessageReader({
    rows(block, start) {
      const end = start + 1 + block.readInt32BE(start + 1)
      taken.push(`row ${block.toString('hex', start + HEADER_BYTES, end)}`)
      return end
    },
    beginLongRow: (bytes) => taken.push(`long row of ${bytes}: `),
    addToLongRow(block, start, end) {
      taken.push(`${taken.pop()}${block.toString('hex', start, end)}`)
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

test('long rows come in pieces, and other messages whole however long they are, wherever the bytes that come are cut', () => {
  const short = message('D', Buffer.alloc(100, 1))
  const sent = [short, message('D', Buffer.alloc(200_000, 2)), message('N', Buffer.alloc(70_000, 3)), short]
  const bytes = Buffer.concat(sent)
  const row = `row ${'01'.repeat(100)}`
  const expected = [row, `long row of 200000: ${'02'.repeat(200_000)}`, sent[2]?.toString('hex'), row]
  // Also within the header of the long row.
  for (const size of [bytes.length, 65_536, 50_000, 107, 105]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(size * index, size * (index + 1)),
    )
    expect(takenOf(pieces)).toEqual(expected)
  }
})

test('a long row takes no memory of its own, however long its message says that it is', () => {
  const header = Buffer.from('D....')
  header.writeInt32BE(2 ** 31 - 1, 1)
  expect(takenOf([header, Buffer.of(7)])).toEqual([`long row of ${2 ** 31 - 5}: 07`])
})
