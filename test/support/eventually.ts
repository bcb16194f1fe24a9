import { expect } from 'vitest'

/** Asks again and again until the answer is as expected; on a busy machine that may take a while. */
export const eventually = <T>(ask: () => T | Promise<T>) => expect.poll(ask, { timeout: 20_000, interval: 50 })
