import { setImmediate as endOfTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'

/** How long work may hold the event loop before others get a turn, in milliseconds. */
const TURN_MS = 15

/** How long all that moves rows may hold one turn of the event loop, in milliseconds. */
const SHARED_TURN_MS = 5

/** When something first moved rows in this turn of the event loop; undefined before. */
let sharedSince: number | undefined

/**
 * Whether all that asks this has had its share of this turn of the event loop. Sessions that are read side by side each
 * take little of it, and would take much together.
 */
export function isTurnOver(): boolean {
  if (sharedSince === undefined) {
    sharedSince = performance.now()
    endOfTurn(() => {
      sharedSince = undefined
    })
  }
  return performance.now() - sharedSince >= SHARED_TURN_MS
}

/** Lets others have the event loop where this turn of it has been used up. @returns is to be awaited. */
export const onceTurnIsOver = (): Promise<void> | undefined => (isTurnOver() ? setImmediate() : undefined)

/**
 * Lets others have the event loop now and then, for work whose data is all there: awaiting what is there already gives
 * nobody else a turn.
 *
 * @returns is to be awaited between two pieces of work that are short.
 */
export function createTurns(turnMs: number = TURN_MS): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < turnMs) return undefined
    return setImmediate().then(() => {
      since = performance.now()
    })
  }
}
