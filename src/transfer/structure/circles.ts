import type { Needs, ObjectKey } from './dependencies.ts'

/** Something that can be made in two steps. */
export interface Divisible {
  readonly key: ObjectKey
  /** What the first step needs. @param isInCircle whether something needs this thing itself, directly or not. */
  first(isInCircle: (key: ObjectKey) => boolean): Iterable<ObjectKey>
}

/** What steps need, without the circles that could be cut. */
export interface CutCircles {
  /** By the keys of things; the second steps have keys of their own. */
  readonly needs: Map<ObjectKey, Set<ObjectKey>>
  readonly inTwoSteps: Set<ObjectKey>
}

export const secondStepOf = (key: ObjectKey): ObjectKey => `second step of ${key}`

/**
 * Cuts circles where something in them can be made in two steps, as pg_dump does: a function that returns a view's rows,
 * and is called by that view, needs its columns only. So the view is made twice: with columns alone, and later with its query.
 */
export function cutCircles(all: Needs, divisible: readonly Divisible[]): CutCircles {
  const needs = new Map([...all].map(([key, on]) => [key, new Set(on)]))
  const inTwoSteps = new Set<ObjectKey>()
  const between = betweenCircles(needs)
  for (const thing of divisible.filter(({ key }) => between.has(key))) {
    const below = reach(thing.key, needs)
    if (![...below].some((key) => needs.get(key)?.has(thing.key))) continue
    divide({ needs, inTwoSteps }, thing, (key) => below.has(key))
  }
  return { needs, inTwoSteps }
}

/** Makes something in two steps. @param needsFirst what goes on after the first one. */
export function divide(
  { needs, inTwoSteps }: CutCircles,
  { key, first }: Divisible,
  needsFirst: (key: ObjectKey) => boolean,
): void {
  const isInCircle = (other: ObjectKey): boolean => reach(other, needs).has(key)
  const ofFirst = new Set([...first(isInCircle)].filter((on) => on !== key))
  const second = secondStepOf(key)
  const ofSecond = new Set(needs.get(key)).add(key)
  needs.set(key, ofFirst)
  for (const [other, on] of needs) if (!needsFirst(other) && on.delete(key)) on.add(second)
  needs.set(second, ofSecond)
  inTwoSteps.add(key)
}

/** Makes what was to be made in two steps in its first one alone. */
export function joinSteps(key: ObjectKey, { needs, inTwoSteps }: CutCircles): void {
  needs.delete(secondStepOf(key))
  for (const on of needs.values()) if (on.delete(secondStepOf(key))) on.add(key)
  inTwoSteps.delete(key)
}

/** What something needs, directly or not, and itself. */
export function reach(from: ObjectKey | Iterable<ObjectKey>, needs: Needs): ReadonlySet<ObjectKey> {
  const found = new Set<ObjectKey>(typeof from === 'string' ? [from] : from)
  for (const key of found) for (const on of needs.get(key) ?? []) found.add(on)
  return found
}

/** Those that need each other in a circle: none of them can be made first. */
export function findCircles(needs: Needs): readonly ObjectKey[] {
  return [...betweenCircles(needs)].filter((key) => [...(needs.get(key) ?? [])].some((on) => reach(on, needs).has(key)))
}

/** What is in circles, or both needs one and is needed by one. */
function betweenCircles(needs: Needs): ReadonlySet<ObjectKey> {
  const neededBy = reversed(needs)
  const [above, below] = [withoutCircles(needs, neededBy), withoutCircles(neededBy, needs)]
  return new Set([...needs.keys()].filter((key) => !above.has(key) && !below.has(key)))
}

/** What neither is in a circle, nor leads to one. @param to where each thing leads. @param from the same, reversed. */
function withoutCircles(to: Needs, from: Needs): ReadonlySet<ObjectKey> {
  const left = new Map([...to].map(([key, on]) => [key, on.size]))
  const found = new Set([...to.keys(), ...from.keys()].filter((key) => (left.get(key) ?? 0) === 0))
  for (const key of found) {
    for (const other of from.get(key) ?? []) {
      const count = (left.get(other) ?? 0) - 1
      left.set(other, count)
      if (count === 0) found.add(other)
    }
  }
  return found
}

/** What needs each thing, of the things that need something. */
export function reversed(needs: Needs): Needs {
  const found = new Map<ObjectKey, Set<ObjectKey>>()
  for (const [key, on] of needs) {
    for (const each of on) {
      const others = found.get(each)
      if (others) others.add(key)
      else found.set(each, new Set([key]))
    }
  }
  return found
}
