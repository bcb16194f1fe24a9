import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonCheck } from '../../src/lib/check-json.ts'

/** @param cut into pieces of so many characters. */
function isJson(text: string, cut = 100_000): boolean {
  const check = new JsonCheck()
  for (let at = 0; at < text.length; at += cut) check.take(text.slice(at, at + cut))
  return check.isWhole
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const cuts = fc.integer({ min: 1, max: 20 })

test('a text that JSON.parse takes is JSON, however it is spaced and cut', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), cuts, (value, space, cut) => {
      expect(isJson(JSON.stringify(value, null, space), cut)).toBe(true)
    }),
  )
})

test('a text that was changed is JSON where JSON.parse takes it, and nowhere else', () => {
  const piece = fc.constantFrom(...'{}[]:,"\\ \n\t\u0000eE+-.019ax', '\\u12', 'null', 'true', '"a"')
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 3 }),
      fc.nat(),
      fc.nat({ max: 3 }),
      piece,
      cuts,
      (value, position, length, by, cut) => {
        const text = JSON.stringify(value)
        const at = position % (text.length + 1)
        const changed = text.slice(0, at) + by + text.slice(at + length)
        expect(isJson(changed, cut), changed).toBe(isParsed(changed))
      },
    ),
    { numRuns: 1_000 },
  )
})

test.each([
  ['nothing', '', false],
  ['a long string', `"${'é\\n'.repeat(400_000)}"`, true],
  ['a long string without an end', `"${'a'.repeat(800_000)}`, false],
  ['a long name', `{"${'a'.repeat(800_000)}":1}`, true],
  ['a comma too many', '[1,]', false],
  ['two values', '1 2', false],
  ['nesting that PostgreSQL reads', `${'['.repeat(6_000)}${']'.repeat(6_000)}`, true],
  ['nesting that nobody reads', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, false],
])('%s', (_, text, expected) => {
  expect(isJson(text)).toBe(expected)
})
