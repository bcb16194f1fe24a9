import { setTimeout as delay } from 'node:timers/promises'
import { AppError, isAppError } from '../../errors.ts'
import { RemoteRefused } from './remote-failure.ts'

/** How often is tried again without having come any further: for a minute, with the pauses in between. */
const MAX_BREAKS = 10
const BREAK_MS = 250
const MAX_BREAK_MS = 10_000
/** After how many seconds it is worth beginning again. */
const RETRY_SECONDS = 30

/** Too many requests; a proxy, or a server that starts, stops, or has no room. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Whether a server may do the same a little later: the connection broke, or it could not just then. */
const mayPass = (error: unknown): error is AppError =>
  error instanceof RemoteRefused
    ? PASSING.has(error.status)
    : isAppError(error, 'REMOTE_FAILED') && error.cause !== undefined

/** How long failures of another server are put up with that may pass. */
export interface Patience {
  /** Says that something has come: the next failure is the first one again. */
  hasCome(): void
  /**
   * Waits a while after a failure.
   *
   * @throws the failure, where it does not pass; where it has not for a minute, REMOTE_FAILED, which says that it may yet.
   */
  waitAfter(failure: unknown): Promise<void>
}

export function createPatience(signal: AbortSignal): Patience {
  let breaks = 0
  return {
    hasCome() {
      breaks = 0
    },
    async waitAfter(failure) {
      if (!mayPass(failure)) throw failure
      breaks += 1
      if (breaks > MAX_BREAKS) {
        throw new AppError('REMOTE_FAILED', failure.message, { cause: failure, retryAfterSeconds: RETRY_SECONDS })
      }
      await delay(Math.min(BREAK_MS * 2 ** (breaks - 1), MAX_BREAK_MS), undefined, { signal })
    },
  }
}

/** Asks another server until it answers. @throws as `Patience.waitAfter`. */
export async function persist<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const patience = createPatience(signal)
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      await patience.waitAfter(error)
    }
  }
}
