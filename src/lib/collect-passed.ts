import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How much passes between two collections. Without them, V8 lets 32 MiB of buffers pile up that nobody holds. */
const DEFAULT_COLLECT_BYTES = 2 * 1024 * 1024

type Collect = (options: { readonly type: 'minor' }) => void

let collect: Collect | undefined

/** V8's own function, which only a context has that is made with this flag. */
function exposeCollect(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

/**
 * Passes chunks on, and now and then has the memory given back of those that nobody holds any more.
 *
 * Only what is young is looked at, which is little where bytes pass by.
 *
 * @param collectBytes how much passes between two collections; more costs memory, less costs processor time.
 */
export async function* collectPassed(
  chunks: AsyncIterable<Buffer>,
  collectBytes: number = DEFAULT_COLLECT_BYTES,
): AsyncGenerator<Buffer, void, undefined> {
  collect ??= exposeCollect()
  let bytes = 0
  for await (const chunk of chunks) {
    yield chunk
    bytes += chunk.length
    if (bytes < collectBytes) continue
    bytes = 0
    collect({ type: 'minor' })
  }
}
