import { performance } from 'node:perf_hooks'
import { setImmediate as atEndOfTurn } from 'node:timers'

/** How long work may hold the thread at a time while nobody else has much to do there, in milliseconds. */
const MOST_MS = 5

/** How much of the thread one request is taken to want, at most, in milliseconds: the rest of what a turn takes is what comes of the work. */
const REQUEST_MS = 0.3

/**
 * The same where the thread has had this much of the time to do: the processors are busy then, and what a request wakes, such as
 * PostgreSQL, takes them from it (`npm run bench -- mixed`).
 */
const [REQUEST_WITHOUT_TIME_MS, WITHOUT_TIME] = [1.5, 0.9]

/** Others keep the thread busy where they have had so much of the time, of late, and how many milliseconds that is about. */
const [BUSY, LATELY_MS] = [0.2, 50]

/** How much of the time work may take then, and for how long at a time at least, in milliseconds. */
const [SHARE_WHILE_BUSY, LEAST_MS] = [0.12, 0.25]

/** How long is waited until there may be time again, in milliseconds. */
const WAIT_MS = 1

/** Keeps work within a share of the thread while others want it. */
export interface ThreadShare {
  /** Says that somebody else wants the thread: a request has come. */
  noteRequest(): void
  /** Does a piece of work, which is short, and counts how long it takes. */
  count<T>(work: () => T): T
  /** Whether the share is used up: no more work is to be begun. */
  isUsedUp(): boolean
  /** Calls back once there is time again, at the end of this turn of the event loop or later. */
  onceThereIsTime(callback: () => void): void
}

/** How long a thread has done something, and how long nothing, in milliseconds since it began. */
export interface Utilization {
  readonly active: number
  readonly idle: number
}

/**
 * Makes a share. While the thread has little else to do, work goes on, and others get a turn every few milliseconds. While
 * others keep it busy, work waits until it has had no more than a small part of the time: it goes more slowly instead of
 * their answers (`npm run bench -- beside`).
 *
 * @param utilization of the thread. @param now a clock of the same thread, in milliseconds.
 */
export function createThreadShare(
  utilization: () => Utilization = () => performance.eventLoopUtilization(),
  now: () => number = () => performance.now(),
): ThreadShare {
  let allowedMs = MOST_MS
  /** How much of the time others have had of late. */
  let load = 0
  /** Since work last went on. */
  let workMs = 0
  let requests = 0
  let since = utilization()
  let waiting: (() => void)[] = []

  const goOnIfThereIsTime = (): void => {
    const until = utilization()
    const activeMs = until.active - since.active
    const allMs = activeMs + until.idle - since.idle
    const requestMs = activeMs < WITHOUT_TIME * allMs ? REQUEST_MS : REQUEST_WITHOUT_TIME_MS
    const othersMs = Math.min(Math.max(0, activeMs - workMs), requestMs * requests)
    const kept = Math.exp(-allMs / LATELY_MS)
    const loadNow = kept * load + (1 - kept) * (allMs > 0 ? othersMs / allMs : 0)
    const isBusy = loadNow >= BUSY
    if (isBusy && workMs > SHARE_WHILE_BUSY * allMs) {
      setTimeout(goOnIfThereIsTime, WAIT_MS)
      return
    }
    load = loadNow
    since = until
    workMs = 0
    requests = 0
    allowedMs = isBusy ? LEAST_MS : MOST_MS
    const callbacks = waiting
    waiting = []
    for (const callback of callbacks) callback()
  }

  return {
    noteRequest() {
      requests += 1
    },
    count(work) {
      const beganAt = now()
      try {
        return work()
      } finally {
        workMs += now() - beganAt
      }
    },
    isUsedUp: () => workMs >= allowedMs,
    onceThereIsTime(callback) {
      waiting.push(callback)
      if (waiting.length === 1) atEndOfTurn(goOnIfThereIsTime)
    },
  }
}

/** That of all that moves rows out of databases and into them, in this process. */
export const rowsShare: ThreadShare = createThreadShare()
