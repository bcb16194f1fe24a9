import { expect, test } from 'vitest'
import { findColumnPlan } from '../../../src/transfer/structure/inheritance.ts'
import type { TableLine } from '../../../src/transfer/structure/lines.ts'
import { validatedNotNulls } from '../../../src/transfer/structure/not-nulls.ts'
import { column } from '../../support/archives/archive-builder.ts'

/** A table with columns of these names; `~name` is one that it inherits. */
const table = (name: string, names: readonly string[], inherits: string[] = []): TableLine => ({
  name,
  columns: names.map((each) =>
    each.startsWith('~') ? column(each.slice(1), 'integer', { inherited: true }) : column(each, 'integer'),
  ),
  inherits,
})

/** What each table is created with, and then given, in the order of statements. */
function planOf(...tables: readonly TableLine[]) {
  const plan = findColumnPlan(tables)
  return (
    plan && {
      created: Object.fromEntries([...plan.created].map(([name, list]) => [name, list.map((each) => each.name)])),
      added: plan.added.map((each) => `${each.table}.${each.column.name}`),
      linked: [...plan.linked],
    }
  )
}

test('a child gets the columns of its parents as it is created', () => {
  expect(
    planOf(table('p', ['a', 'b']), table('q', ['b', 'c']), table('t', ['~a', '~b', '~c', 'd'], ['p', 'q'])),
  ).toEqual({
    created: { p: ['a', 'b'], q: ['b', 'c'], t: ['d'] },
    added: [],
    linked: [],
  })
})

test('what a parent was given later is added later, and so is what came behind', () => {
  expect(
    planOf(
      table('p', ['a', 'late']),
      table('t', ['~a', 'own', '~late', 'last'], ['p']),
      table('u', ['~a', '~own', '~late', '~last'], ['t']),
    ),
  ).toEqual({ created: { p: ['a'], t: ['own'], u: [] }, added: ['p.late', 't.last'], linked: [] })
})

test("a column that a child had before its parent is the child's own first", () => {
  expect(planOf(table('p', ['a', 'b']), table('t', ['~a', 'x', 'b'], ['p']))).toEqual({
    created: { p: ['a'], t: ['x', 'b'] },
    added: ['p.b'],
    linked: [],
  })
})

test('a table whose columns are all its own, in another order, inherits afterwards', () => {
  expect(planOf(table('p', ['a', 'b']), table('t', ['b', 'a'], ['p']))).toEqual({
    created: { p: ['a', 'b'], t: ['b', 'a'] },
    added: [],
    linked: ['t'],
  })
})

test('there is no plan for what no statements make', () => {
  expect(planOf(table('p', ['a', 'b']), table('t', ['~b', '~a'], ['p']))).toBeUndefined()
})

test('a plan for more columns than anybody has is not looked for', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `c${at}`)
  const parents = Array.from({ length: 40 }, (_, at) => table(`p${at}`, names))
  const inherited = names.map((name) => `~${name}`)
  const children = Array.from({ length: 40 }, (_, at) =>
    table(
      `t${at}`,
      ['own', ...inherited],
      parents.map(({ name }) => name),
    ),
  )
  expect(planOf(...parents, ...children)).toBeUndefined()
})

test('a NOT NULL that is NOT VALID above is found once, however many ways there are to it', () => {
  const columns = [{ name: 'c', type: 'integer', nullable: false, notNull: { inherited: true, notValid: true } }]
  const first = { name: 'c_filled', notValid: true }
  const tables = Array.from({ length: 60 }, (_, at) => [`a${at}`, `b${at}`]).flatMap((names, at, all) =>
    names.map((name) =>
      at === 0
        ? { name, columns: columns.map((column) => ({ ...column, notNull: first })) }
        : { name, columns, inherits: all[at - 1] ?? [] },
    ),
  )
  const child = { name: 'child', columns: columns.map((each) => ({ ...each, notNull: { inherited: true } })) }
  expect(validatedNotNulls([...tables, { ...child, inherits: ['a59', 'b59'] }]).at(-1)).toBe(
    'ALTER TABLE "child" VALIDATE CONSTRAINT "c_filled"',
  )
})
