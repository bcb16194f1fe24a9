import { setTimeout as delay } from 'node:timers/promises'

/** What comes round again until it is stopped. */
export interface Repeating {
  /** Ends it, once the turn that is under way has ended. */
  stop(): Promise<void>
}

/**
 * Does something now, and again and again with a pause in between. A turn that fails does not keep the next from coming.
 *
 * @param turn gets a signal that is aborted when it is to stop.
 * @param onFailure is not called for a turn that fails because it was stopped.
 */
export function repeat(
  pauseMs: number,
  turn: (signal: AbortSignal) => Promise<void>,
  onFailure: (error: unknown) => void,
): Repeating {
  const stopping = new AbortController()
  const { signal } = stopping
  const goOn = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await turn(signal)
      } catch (error) {
        if (!signal.aborted) onFailure(error)
      }
      // Aborting is the only way for it to fail.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const ended = goOn()
  return {
    stop() {
      stopping.abort()
      return ended
    },
  }
}
