import type { ObjectKey } from './dependencies.ts'
import { compareText, groupBy } from './query.ts'

/** A line, with what it is known and ordered by. */
export interface Unordered<Line> {
  readonly key: ObjectKey
  readonly name: string
  readonly line: Line
}

export interface Orderable {
  readonly key: string
  readonly name: string
  /** Keys of those without which this one can't be made. */
  readonly needs: ReadonlySet<string>
  /** Keys of those that should come first where that is possible: parents by foreign keys. */
  readonly prefers: ReadonlySet<string>
}

/** Orders things so that each can be made after those before it; what is free in that is ordered by name. */
export function inCreationOrder<T extends Orderable>(things: readonly T[]): T[] {
  const byKey = new Map(things.map((thing) => [thing.key, thing]))
  const sorted = [...things].sort((a, b) => compareText(a.name, b.name))
  const ranks = new Map(sorted.map((thing, rank) => [thing, rank]))
  const pending = new Set(sorted)
  const first = (keys: ReadonlySet<string>, except: T): T | undefined => {
    for (const key of keys) {
      const thing = byKey.get(key)
      if (thing && thing !== except && pending.has(thing)) return thing
    }
    return undefined
  }
  const awaited = new Map(sorted.map((thing) => [thing, new Set(othersOf(thing, byKey))]))
  const waiting = groupBy(
    sorted.flatMap((thing) => [...(awaited.get(thing) ?? [])].map((on) => ({ thing, on }))),
    ({ on }) => on,
  )
  /** The ranks of those that wait for nothing, the next one at the end. */
  const free: number[] = []
  const release = (thing: T): void => {
    const rank = ranks.get(thing) ?? 0
    free.splice(findPosition(free, rank), 0, rank)
  }
  for (const thing of sorted) if (awaited.get(thing)?.size === 0) release(thing)

  const ordered: T[] = []
  while (pending.size > 0) {
    const next = sorted[free.pop() ?? -1] ?? onACircle(pending, first)
    pending.delete(next)
    ordered.push(next)
    for (const { thing } of waiting.get(next) ?? []) {
      const left = awaited.get(thing)
      if (left?.delete(next) && left.size === 0 && pending.has(thing)) release(thing)
    }
  }
  return ordered
}

/** What should come before a thing, of those that there are. */
const othersOf = <T extends Orderable>(thing: T, byKey: ReadonlyMap<string, T>): readonly T[] =>
  [...thing.needs, ...thing.prefers].flatMap((key) => byKey.get(key) ?? []).filter((other) => other !== thing)

/** Where a rank belongs among others, from the last to the first. */
function findPosition(ranks: readonly number[], rank: number): number {
  let [low, high] = [0, ranks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranks[middle] ?? 0) > rank) low = middle + 1
    else high = middle
  }
  return low
}

type First<T> = (keys: ReadonlySet<string>, except: T) => T | undefined

/**
 * Everything left waits for something: follows that until it comes round. The circle is cut before a thing that
 * only prefers to wait, so that what merely hangs on the circle still comes after it.
 */
function onACircle<T extends Orderable>(pending: ReadonlySet<T>, first: First<T>): T {
  const seen = new Set<T>()
  let [thing] = pending
  // Twice round at most, for things that do need each other: no order is right for those.
  for (let steps = 0; thing && steps < 2 * pending.size; steps++) {
    const needed = first(thing.needs, thing)
    if (seen.has(thing) && !needed) return thing
    seen.add(thing)
    thing = needed ?? first(thing.prefers, thing)
  }
  if (!thing) throw new Error('nothing is left to be ordered')
  return thing
}
