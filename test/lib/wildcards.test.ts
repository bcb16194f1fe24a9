import { expect, test } from 'vitest'
import { takeExcluded, withExcluded } from '../../src/database/address/excluded-databases.ts'
import { matchesPattern } from '../../src/lib/wildcards.ts'

test.each<[pattern: string, matched: readonly string[], others: readonly string[]]>([
  ['shop', ['shop'], ['Shop', 'shop2', 'my-shop', '']],
  ['shop-*', ['shop-', 'shop-a', 'shop-a-b'], ['shop', 'a-shop-b']],
  ['*', ['', 'a', 'two words', '*'], []],
  ['a?c', ['abc', 'a?c', 'a😀c'], ['ac', 'abbc']],
  ['*a*b', ['ab', 'xaxb', 'abab', 'aab'], ['ba', 'abx']],
  ['a.c', ['a.c'], ['abc']],
  ['"a*"', ['a*'], ['ab', '"a*"']],
  ['"say ""hi"""*', ['say "hi"', 'say "hi" again'], ['say hi']],
])('the pattern %s stands for what it says', (pattern, matched, others) => {
  expect(matched.filter((text) => !matchesPattern(pattern, text))).toEqual([])
  expect(others.filter((text) => matchesPattern(pattern, text))).toEqual([])
})

test('a pattern of many wildcards is soon compared with a text that it does not stand for', () => {
  expect(matchesPattern('*a'.repeat(500), `${'a'.repeat(5_000)}b`)).toBe(false)
})

test.each<[query: string, left: string, excluded: readonly string[]]>([
  ['', '', []],
  ['?exclude=template*', '', ['template*']],
  ['?sslmode=require&exclude=a,%22b,%22%22c%22,d%20e', '?sslmode=require', ['a', '"b,""c"', 'd e']],
  ['?exclude=a&connect_timeout=5&exclude=b,a', '?connect_timeout=5', ['a', 'b']],
  ['?exclude=', '', []],
])('the address ?%s is one of libpq beside what it excludes', (query, left, excluded) => {
  const taken = takeExcluded(`postgres://db${query}`)
  expect(taken).toEqual({ address: `postgres://db${left}`, excluded })
  expect(takeExcluded(withExcluded(taken))).toEqual(taken)
})

test.each(['?exclude=a,,b', '?exclude=,a', '?exclude=a,', '?exclude="a', '?exclude=%f'])('%s is refused', (query) => {
  expect(() => takeExcluded(`postgres://db${query}`)).toThrow(/^exclude of the address/)
})
