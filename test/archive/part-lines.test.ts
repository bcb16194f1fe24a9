import { expect, test } from 'vitest'
import { PartLines } from '../../src/archive/part-lines.ts'

const SHA256 = 'a'.repeat(64)
const OPENING = '{"rows":{"table":"t","columns":["a","é\\""],"part":2}}'
const CLOSING = `{"rowsEnd":{"table":"t","part":2,"rows":0,"sha256":"${SHA256}"}}`

const partsOf = (table: string): PartLines => {
  const lines = new PartLines()
  lines.begin({ table, columns: ['a', 'é"'], part: 1 })
  return lines
}

const read = (line: string, lines = partsOf('t')) =>
  [lines.opening(Buffer.from(line)), lines.closing(Buffer.from(line))].find((entry) => entry !== undefined)

test('the lines around a part are what parsing them gives', () => {
  const closing = { table: 't', part: 2, rows: 0, sha256: SHA256 }
  expect(read(OPENING)).toEqual({ kind: 'rows', content: JSON.parse(OPENING).rows })
  expect(read(`${OPENING}\r`)).toEqual({ kind: 'rows', content: JSON.parse(OPENING).rows })
  expect(read(CLOSING)).toEqual({ kind: 'rowsEnd', content: closing })
  expect(read(CLOSING.replace('}}', ',"last":true}}'))).toEqual({
    kind: 'rowsEnd',
    content: { ...closing, last: true },
  })
})

test('a line that differs from them in a single byte is another number, or is left to who parses lines', () => {
  for (const line of [OPENING, CLOSING]) {
    for (let at = 0; at < line.length; at += 1) {
      for (const byte of ['', ' ', '"', ',', '0', '9', 'x', '\\', '}']) {
        const edited = line.slice(0, at) + byte + line.slice(at + 1)
        const entry = read(edited)
        if (entry) expect(JSON.parse(edited)).toEqual({ [entry.kind]: entry.content })
      }
    }
  }
})

test.each([
  ['of another table', OPENING.replace('"t"', '"u"')],
  ['with a key twice', CLOSING.replace('"rows":0', '"rows":1,"rows":0')],
  ['with a key more', CLOSING.replace('}}', ',"more":1}}')],
  ['with a number too large to be one', OPENING.replace('2}}', '9007199254740993}}')],
  ['with a number that JSON does not know', OPENING.replace('2}}', '02}}')],
  ['with a part that no table has', OPENING.replace('2}}', '0}}')],
  ['with a sum in capitals', CLOSING.replaceAll('a'.repeat(64), 'A'.repeat(64))],
  ['with something behind it', `${CLOSING}{}`],
  ['that is a row', '{"row":["a"]}'],
])('one %s is left to who parses lines', (_, line) => {
  expect(read(line)).toBeUndefined()
})

test('nothing is known before the first part, nor of a table that has no parts', () => {
  expect(read(OPENING, new PartLines())).toBeUndefined()
  const lines = partsOf('t')
  lines.begin({ table: 't', columns: [] })
  expect(read(CLOSING, lines)).toBeUndefined()
})
