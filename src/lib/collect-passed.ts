import { collectYoung, letHeapGrow } from './runtime.ts'

/**
 * How memory is given back: `small` soon; `large` later, and with much less processor time, for where others need the
 * processors while chunks pass.
 */
export type CollectStep = 'small' | 'large'

/** How much passes between two collections. */
const COLLECT_BYTES: Readonly<Record<CollectStep, number>> = { small: 2 * 1024 * 1024, large: 8 * 1024 * 1024 }

/**
 * Passes chunks on, and now and then has the memory given back of those that nobody holds any more.
 *
 * Only what is young is looked at, which is little where bytes pass by.
 */
export async function* collectPassed<Chunk extends { readonly length: number }>(
  chunks: AsyncIterable<Chunk>,
  step: CollectStep = 'small',
): AsyncGenerator<Chunk, void, undefined> {
  let bytes = 0
  const stopGrowing = step === 'large' ? letHeapGrow() : undefined
  try {
    for await (const chunk of chunks) {
      yield chunk
      bytes += chunk.length
      if (bytes < COLLECT_BYTES[step]) continue
      bytes = 0
      collectYoung()
    }
  } finally {
    stopGrowing?.()
  }
}
