import { within } from './lib/within.ts'
import type { Logger } from './logger.ts'

/** How long one closer may take before it is given up, in milliseconds. */
const CLOSE_TIMEOUT_MS = 20_000

export interface Lifecycle {
  /** Registers a closer. Closers run last-in first-out, so open a resource, then register it. */
  onClose(name: string, close: () => unknown): void
  /** Runs every closer once, whatever fails before it. Calling it again returns the same promise. */
  close(): Promise<void>
}

/**
 * Keeps what has to be closed, in the order in which it was opened.
 *
 * A closer that fails or takes longer than 20 seconds is logged and does not keep the others from running.
 */
export function createLifecycle(logger: Logger): Lifecycle {
  const closers: { name: string; close: () => unknown }[] = []
  let closing: Promise<void> | undefined

  const closeAll = async (): Promise<void> => {
    for (let closer = closers.pop(); closer; closer = closers.pop()) {
      const { name } = closer
      await within(CLOSE_TIMEOUT_MS, Promise.resolve().then(closer.close), () => {
        throw new Error(`not closed within ${CLOSE_TIMEOUT_MS} ms`)
      }).catch((error: unknown) => logger.error({ err: error, resource: name }, 'closing failed'))
    }
  }

  return {
    onClose(name, close) {
      closers.push({ name, close })
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}
