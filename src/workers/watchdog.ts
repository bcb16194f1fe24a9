import { Worker } from 'node:worker_threads'
import type { Logger } from '../logger.ts'

/** How often the main thread shows that it is alive, at most. */
const BEAT_MS = 1_000

/** What is logged; the main thread, which has the logger, can't be asked any more then. */
const HUNG = 'the event loop of this process hangs; the process is killed, so that its jobs go to another'

/**
 * Kills this process where its event loop hangs: it can't give up what it is doing then, nor find out that others have
 * taken it over. It watches from a thread of its own, and counts its own beats instead of looking at a clock, so that a
 * process that was stopped as a whole, or a machine that slept, is not taken for one that hangs.
 */
export function startWatchdog({ hangMs }: { readonly hangMs: number }, logger: Logger): { stop(): Promise<unknown> } {
  const beatMs = Math.min(BEAT_MS, hangMs / 3)
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const workerData = { beats, beatMs, maxMissed: Math.ceil(hangMs / beatMs), message: HUNG }
  const thread = new Worker(WATCH, { eval: true, workerData })
  // Unheard, it would end the process, which can work without being watched.
  thread.on('error', (error) => logger.error({ err: error }, 'the watchdog has ended; a hang is not noticed any more'))
  thread.unref()
  const timer = setInterval(() => Atomics.add(beats, 0, 1), beatMs)
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      return thread.terminate()
    },
  }
}

/**
 * As text, so that it runs alike from `src/` and from `dist/`. What it was not possible to write after a second, since
 * nobody reads the log, say, is not waited for.
 */
const WATCH = `
  const { write } = require('node:fs')
  const { workerData: { beats, beatMs, maxMissed, message } } = require('node:worker_threads')
  const kill = () => process.kill(process.pid, 'SIGKILL')
  let last = 0
  let missed = 0
  const timer = setInterval(() => {
    const now = Atomics.load(beats, 0)
    missed = now === last ? missed + 1 : 0
    last = now
    if (missed < maxMissed) return
    clearInterval(timer)
    write(2, JSON.stringify({ level: 60, time: new Date().toISOString(), msg: message }) + '\\n', kill)
    setTimeout(kill, 1_000)
  }, beatMs)
`
