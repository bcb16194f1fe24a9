import { setTimeout as sleep } from 'node:timers/promises'

const CHECK_INTERVAL_MS = 20

/**
 * Fast shutdown (sessions are ended, everything is written), then immediate shutdown (the next start recovers), then
 * the end; with the time that each gets. Altogether less than a closer of the lifecycle may take.
 *
 * @see https://www.postgresql.org/docs/current/server-shutdown.html
 */
const STEPS = [
  { signal: 'SIGINT', timeoutMs: 12_000 },
  { signal: 'SIGQUIT', timeoutMs: 5_000 },
  { signal: 'SIGKILL', timeoutMs: 1_000 },
] as const

export type StopSignal = (typeof STEPS)[number]['signal']

export interface RunningServer {
  signal(signal: StopSignal): void
  hasEnded(): boolean | Promise<boolean>
}

/** Stops a server, more and more firmly. @returns the signal that did it; undefined where none did. */
export async function stopServer(server: RunningServer): Promise<StopSignal | undefined> {
  for (const { signal, timeoutMs } of STEPS) {
    server.signal(signal)
    if (await endsWithin(server, timeoutMs)) return signal
  }
  return undefined
}

async function endsWithin(server: RunningServer, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (!(await server.hasEnded())) {
    if (Date.now() > deadline) return false
    await sleep(CHECK_INTERVAL_MS)
  }
  return true
}
