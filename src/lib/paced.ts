import { setTimeout as sleep } from 'node:timers/promises'

/** How much may come at once after a pause: it is no debt that is made up for. */
const BURST_MS = 100

/**
 * Passes chunks on no faster than `bytesPerSecond` of them, over any time that is longer than a chunk takes.
 *
 * @param signal ends the waiting, with its reason.
 */
export async function* paced<Chunk extends { readonly length: number }>(
  chunks: AsyncIterable<Chunk>,
  bytesPerSecond: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk, void, undefined> {
  /** When the next chunk may pass. */
  let dueMs = performance.now()
  for await (const chunk of chunks) {
    const now = performance.now()
    if (dueMs > now) await pause(dueMs - now, signal)
    else dueMs = Math.max(dueMs, now - BURST_MS)
    dueMs += (chunk.length / bytesPerSecond) * 1_000
    yield chunk
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw error
  })
}
