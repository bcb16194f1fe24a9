import { setImmediate } from 'node:timers/promises'

/** How long work may hold the event loop before others get a turn, in milliseconds. */
const TURN_MS = 15

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
