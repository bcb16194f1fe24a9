import { EXIT } from './exit-codes.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export interface Interrupts {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP after `listen`. */
  readonly signal: AbortSignal
  listen(): void
  /** Stops listening, and leaves the signals to other listeners. */
  stop(): void
}

/** Turns Ctrl-C into an abort that work can clean up after; a second one ends the process at once. */
export function createInterrupts(subject: NodeJS.Process): Interrupts {
  const controller = new AbortController()

  const onSignal = (): void => {
    if (controller.signal.aborted) subject.exit(EXIT.interrupted)
    controller.abort()
  }

  return {
    signal: controller.signal,
    listen() {
      for (const name of SIGNALS) subject.on(name, onSignal)
    },
    stop() {
      for (const name of SIGNALS) subject.off(name, onSignal)
    },
  }
}
