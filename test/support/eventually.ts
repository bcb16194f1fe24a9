import { expect } from 'vitest'

/** Asks again and again until the answer is as expected; on a busy machine that may take a while. @param timeout in ms. */
export const eventually = <T>(ask: () => T | Promise<T>, timeout = 45_000) =>
  expect.poll(ask, { timeout, interval: 50 })
