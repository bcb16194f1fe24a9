import { expect, test } from 'vitest'
import { cutCircles, findCircles, secondStepOf } from '../../../src/transfer/structure/circles.ts'
import type { ObjectKey } from '../../../src/transfer/structure/dependencies.ts'

const key = (name: string): ObjectKey => `pg_class:${name}`

/** What things need, each `name: what it needs`. */
const needsOf = (things: Readonly<Record<string, string>>): Map<ObjectKey, Set<ObjectKey>> =>
  new Map(
    Object.entries(things).map(([name, on]) => [key(name), new Set(on.split(' ').filter(Boolean).map(key))] as const),
  )

const divisible = (name: string) => ({ key: key(name), first: () => [] })

test('of what can be made in two steps, only what is in a circle is', () => {
  const needs = needsOf({ above: 'view', view: 'f', f: 'view below', below: 'absent', alone: '' })
  expect(findCircles(needs)).toEqual([key('view'), key('f')])
  const cut = cutCircles(needs, ['above', 'view', 'below', 'alone'].map(divisible))
  expect([...cut.inTwoSteps]).toEqual([key('view')])
  expect(cut.needs.get(key('above'))).toEqual(new Set([secondStepOf(key('view'))]))
  expect(findCircles(cut.needs)).toEqual([])
})

test('a long chain is walked along once, whichever end it is begun at', () => {
  const chain = Array.from({ length: 20_000 }, (_, at) => [`t${at}`, `t${at + 1}`] as const)
  expect(findCircles(needsOf(Object.fromEntries(chain)))).toEqual([])
  expect(findCircles(needsOf(Object.fromEntries(chain.toReversed())))).toEqual([])
})
