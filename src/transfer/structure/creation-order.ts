import type { ObjectKey } from './dependencies.ts'
import { compareText } from './query.ts'

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
  const pending = new Set([...things].sort((a, b) => compareText(a.name, b.name)))
  const first = (keys: ReadonlySet<string>, except: T): T | undefined => {
    for (const key of keys) {
      const thing = byKey.get(key)
      if (thing && thing !== except && pending.has(thing)) return thing
    }
    return undefined
  }

  const ordered: T[] = []
  while (pending.size > 0) {
    const next = firstFree(pending, first) ?? onACircle(pending, first)
    pending.delete(next)
    ordered.push(next)
  }
  return ordered
}

type First<T> = (keys: ReadonlySet<string>, except: T) => T | undefined

function firstFree<T extends Orderable>(pending: ReadonlySet<T>, first: First<T>): T | undefined {
  for (const thing of pending) {
    if (!first(thing.needs, thing) && !first(thing.prefers, thing)) return thing
  }
  return undefined
}

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
