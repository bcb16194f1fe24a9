import { expect, test } from 'vitest'
import { leftOutNotes } from '../../src/cli/import/left-out-notes.ts'

const live = { slug: 'live', leftOut: [], notReplaced: [] }

test('nothing is said of stages that get all and replace all', () => {
  expect(leftOutNotes([])).toEqual([])
  expect(leftOutNotes([{ targetSlug: 'shop', stages: [live, { ...live, slug: 'draft' }] }])).toEqual([])
})

test('each stage has its own heading, and what is left out comes before what stays', () => {
  const stages = [
    {
      ...live,
      leftOut: [{ kind: 'grant', name: 't', detail: 'SELECT to r: there is no such role' }],
      notReplaced: [{ kind: 'foreign table', name: 'far' }],
    },
    { ...live, slug: 'draft', notReplaced: [{ kind: 'table', name: 'u', detail: 'why' }] },
  ]
  expect(leftOutNotes([{ targetSlug: 'shop', stages }])).toEqual([
    'warning: shop/live does not get these rights and policies of the archive:',
    '  grant t (SELECT to r: there is no such role)',
    'warning: shop/live keeps rows that no archive can hold:',
    '  foreign table far',
    'warning: shop/draft keeps rows that no archive can hold:',
    '  table u (why)',
  ])
})

test('a name with a line break stays in one line', () => {
  const stages = [{ ...live, notReplaced: [{ kind: 'table', name: 'a\nwarning: b' }] }]
  const notes = leftOutNotes([{ targetSlug: 'shop', stages }])
  expect(notes).toHaveLength(2)
  expect(notes.join('')).not.toContain('\n')
})
