import { Worker } from 'node:worker_threads'

/** How often the main thread shows that it is alive. */
const BEAT_MS = 1_000

/**
 * How many of its own beats the watching thread counts without one of the main thread's, before it ends the process.
 */
const MAX_MISSED = 30

/**
 * Ends this process where its event loop hangs while it works on jobs: it can't give up what it is doing then, nor find
 * out that others have taken it over. It watches from a thread of its own, and counts its own beats instead of looking
 * at a clock, so that a process that was stopped as a whole, or a machine that slept, is not taken for one that hangs.
 *
 * @param isNeeded whether there is anything going on that would be lost otherwise.
 */
export function startWatchdog({ isNeeded }: { readonly isNeeded: () => boolean }): { stop(): Promise<unknown> } {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(WATCH, { eval: true, workerData: { beats, beatMs: BEAT_MS, maxMissed: MAX_MISSED } })
  thread.unref()
  const beat = (): void => {
    Atomics.add(beats, 0, 1)
  }
  // Nothing needs watching while nothing is done; the watching thread sees the last beat's sign then.
  const timer = setInterval(() => (isNeeded() ? beat() : Atomics.store(beats, 0, 0)), BEAT_MS)
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      return thread.terminate()
    },
  }
}

/** Zero beats mean that nothing is going on. As text, so that it runs alike from `src/` and from `dist/`. */
const WATCH = `
  const { workerData: { beats, beatMs, maxMissed } } = require('node:worker_threads')
  let last = 0
  let missed = 0
  setInterval(() => {
    const now = Atomics.load(beats, 0)
    missed = now === 0 || now !== last ? 0 : missed + 1
    last = now
    if (missed >= maxMissed) process.kill(process.pid, 'SIGKILL')
  }, beatMs)
`
