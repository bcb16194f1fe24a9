const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** After each attempt that failed, in milliseconds; the last one again and again. */
const PAUSES_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR]

/** The part of a pause by which it is longer or shorter, so that what failed together does not come back together. */
const SPREAD = 0.1

/** How long to wait after an attempt that failed. @param attempt 1 for the first. */
export function retryPauseMs(attempt: number, random = Math.random()): number {
  const pause = PAUSES_MS[Math.min(attempt, PAUSES_MS.length) - 1] ?? 0
  return pause * (1 - SPREAD + 2 * SPREAD * random)
}
