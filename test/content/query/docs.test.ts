import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/content/query/limits.ts'
import { OPERATORS } from '../../../src/content/query/operators.ts'
import { AGGREGATES } from '../../../src/content/query/parse-select.ts'

const page = await readFile(new URL('../../../docs/content.md', import.meta.url), 'utf8')

test('the page on the dialect names every operator and aggregate', () => {
  for (const name of [...OPERATORS.keys(), ...AGGREGATES]) expect(page).toContain(`\`${name}\``)
})

test('the page on the dialect gives every limit', () => {
  const { exactEstimate: _, ...limits } = LIMITS
  for (const limit of Object.values(limits)) expect(page).toMatch(new RegExp(`\\b${limit.toLocaleString('en')}\\b`))
})
