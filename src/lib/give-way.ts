import { setImmediate as endOfTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'

/** How long work may hold the event loop before others get a turn, in milliseconds. */
const TURN_MS = 15

/** How long all that moves rows may hold one turn of the event loop where nobody else wants it, in milliseconds. */
const MOST_MS = 5

/** And where others do: this share of what they have held it for, but no less than so many milliseconds. */
const [SHARE_BESIDE_OTHERS, LEAST_MS] = [0.2, 0.5]

/** When something first moved rows in this turn of the event loop, and when its share was used up; undefined before. */
let began: number | undefined
let usedUp: number | undefined
/** How long rows may be moved in this turn. */
let allowedMs = MOST_MS

/**
 * Whether all that asks this has had its share of this turn of the event loop. Sessions that are read side by side each
 * take little of it, and would take much together; and while requests come all the time, exports go more slowly instead
 * of answers (`npm run bench -- beside`).
 */
export function isTurnOver(): boolean {
  const now = performance.now()
  if (began === undefined) {
    began = now
    endOfTurn(endTurn)
  }
  if (now - began < allowedMs) return false
  usedUp ??= now
  return true
}

function endTurn(): void {
  allowedMs = turnMsBeside(usedUp === undefined ? 0 : performance.now() - usedUp)
  began = undefined
  usedUp = undefined
}

/** How long rows may be moved in a turn, in milliseconds. @param othersMs how long others have held the turn before, once its share was used up. */
export const turnMsBeside = (othersMs: number): number =>
  othersMs < LEAST_MS ? MOST_MS : Math.min(MOST_MS, Math.max(LEAST_MS, SHARE_BESIDE_OTHERS * othersMs))

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
