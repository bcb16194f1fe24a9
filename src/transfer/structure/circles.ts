import type { Needs, ObjectKey } from './dependencies.ts'

/** What objects need, without the circles that could be cut. */
export interface CutCircles {
  readonly needs: Needs
  /** The views that are made in two steps. */
  readonly inTwoSteps: ReadonlySet<ObjectKey>
}

/**
 * Cuts circles at the views that are in them, as pg_dump does: a function that returns a view's rows, and is called by
 * that view, needs its columns only. So the view is made twice: with columns alone, and in the end with its query.
 *
 * @param views those whose columns can be made without any other view.
 */
export function cutAtViews(needs: Needs, views: Iterable<ObjectKey>): CutCircles {
  const left = new Map([...needs].map(([key, on]) => [key, new Set(on)]))
  const inTwoSteps = new Set<ObjectKey>()
  for (const view of views) {
    const below = reach(view, left)
    const circle = [...below].filter((key) => key !== view && left.get(key)?.has(view))
    for (const key of circle) left.get(key)?.delete(view)
    if (circle.length > 0) inTwoSteps.add(view)
  }
  return { needs: left, inTwoSteps }
}

/** What an object needs, directly or not. */
function reach(from: ObjectKey, needs: Needs): ReadonlySet<ObjectKey> {
  const found = new Set<ObjectKey>([from])
  for (const key of found) for (const on of needs.get(key) ?? []) found.add(on)
  return found
}

/** Those of some objects that need each other in a circle, or need what does: none of them can be made first. */
export function findCircle(keys: Iterable<ObjectKey>, needs: Needs): ReadonlySet<ObjectKey> {
  const pending = new Set(keys)
  for (let found = -1; found !== pending.size; ) {
    found = pending.size
    for (const key of pending) {
      if (![...(needs.get(key) ?? [])].some((on) => pending.has(on))) pending.delete(key)
    }
  }
  return pending
}
