import { setTimeout as delay } from 'node:timers/promises'

/** A way to ask over a connection: settles once there is an answer, or where the connection is known to be broken. */
export type Ask = () => Promise<unknown>

/**
 * Finds connections that are open but no longer answer: a worker that waits on one for its next job waits for ever.
 * A connection that is refused or breaks is no such case; its user opens it again.
 *
 * @param connections by name.
 * @param hangMs how long an answer may take.
 * @param onHang called with the name of such a connection, once for each.
 */
export function watchConnections(options: {
  readonly connections: Readonly<Record<string, Ask>>
  readonly hangMs: number
  readonly onHang: (name: string) => void
}): { stop(): void } {
  const { connections, hangMs, onHang } = options
  const stopping = new AbortController()
  const { signal } = stopping

  const watch = async (name: string, ask: Ask): Promise<void> => {
    let heardAtMs = performance.now()
    while (!signal.aborted) {
      if (await isHeard(ask, hangMs, signal)) heardAtMs = performance.now()
      else if (performance.now() - heardAtMs >= hangMs) return onHang(name)
      await delay(hangMs / 6, undefined, { signal }).catch(() => undefined)
    }
  }
  for (const [name, ask] of Object.entries(connections)) void watch(name, ask)
  return { stop: () => stopping.abort() }
}

/** Whether there was an answer, or a clear no; a client that says that it waited in vain was given neither. */
async function isHeard(ask: Ask, hangMs: number, signal: AbortSignal): Promise<boolean> {
  const timer = new AbortController()
  const expiry = delay(hangMs, false, { signal: AbortSignal.any([timer.signal, signal]) }).catch(() => true)
  const answer = ask().then(
    () => true,
    (error: unknown) => !(error instanceof Error && /timeout/i.test(error.message)),
  )
  try {
    return await Promise.race([answer, expiry])
  } finally {
    timer.abort()
  }
}
