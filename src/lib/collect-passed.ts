import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * How memory is given back: `small` soon; `large` later, and with much less processor time, for where others need the
 * processors while chunks pass.
 */
export type CollectStep = 'small' | 'large'

/** How much passes between two collections. Without them, V8 lets 32 MiB of buffers pile up that nobody holds. */
const COLLECT_BYTES: Readonly<Record<CollectStep, number>> = { small: 2 * 1024 * 1024, large: 8 * 1024 * 1024 }

/**
 * V8 takes buffers that pass for a heap that grows. By itself it begins to mark all that is old, with every processor,
 * whenever it has grown by some 8 MB, which can be all the time (`npm run bench -- import`). 0 leaves that to V8.
 */
const FAST_HEAP_GROWTH_PERCENT = 60

type Collect = (options: { readonly type: 'minor' }) => void

let collect: Collect | undefined

/** V8's own function, which only a context has that is made with this flag. */
function exposeCollect(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

/** How many let the heap grow now: V8 has one setting for all. */
let growing = 0

function countGrowing(change: 1 | -1): void {
  growing += change
  setFlagsFromString(`--heap-growing-percent=${growing > 0 ? FAST_HEAP_GROWTH_PERCENT : 0}`)
}

/**
 * Passes chunks on, and now and then has the memory given back of those that nobody holds any more.
 *
 * Only what is young is looked at, which is little where bytes pass by.
 */
export async function* collectPassed<Chunk extends { readonly length: number }>(
  chunks: AsyncIterable<Chunk>,
  step: CollectStep = 'small',
): AsyncGenerator<Chunk, void, undefined> {
  collect ??= exposeCollect()
  let bytes = 0
  if (step === 'large') countGrowing(1)
  try {
    for await (const chunk of chunks) {
      yield chunk
      bytes += chunk.length
      if (bytes < COLLECT_BYTES[step]) continue
      bytes = 0
      collect({ type: 'minor' })
    }
  } finally {
    if (step === 'large') countGrowing(-1)
  }
}
