import { availableParallelism } from 'node:os'
import { type Compressed, GzipThread } from './gzip-thread.ts'

/** At most four, and no more than there are processors. */
const MAX_THREADS = Math.min(4, availableParallelism())

/** The threads of this process, started when they are first needed, and kept for what it compresses later. */
const threads = new Set<GzipThread>()
const idle = new Set<GzipThread>()
/** Who waits for a thread, in the order in which they came. */
const waiting: { readonly take: (thread: GzipThread) => void; readonly fail: (error: unknown) => void }[] = []

/**
 * Compresses a block as one member of gzip, in one of a few threads that all exports of the process share. It takes over both buffers, as
 * `BlockCompressor` has it.
 *
 * @throws {Error} where the thread fails, or the system has none.
 */
export async function gzipMember(block: Buffer, memory: Buffer): Promise<Compressed> {
  const thread = await takeThread()
  try {
    return await thread.compress(block, memory)
  } finally {
    passOn(thread)
  }
}

/** @throws {Error} where the system has no thread for it. */
async function takeThread(): Promise<GzipThread> {
  const [thread] = idle
  if (thread) {
    idle.delete(thread)
    return thread
  }
  if (threads.size < MAX_THREADS) {
    try {
      return startThread()
    } catch (error) {
      // Where there are others, it can wait for one of them.
      if (threads.size === 0) throw error
    }
  }
  return new Promise((take, fail) => waiting.push({ take, fail }))
}

/** Hands a thread, or another one in place of one that has failed, to who waits the longest. */
function passOn(thread: GzipThread): void {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    try {
      next.take(threads.has(thread) ? thread : startThread())
      return
    } catch (error) {
      next.fail(error)
    }
  }
  if (threads.has(thread)) idle.add(thread)
}

function startThread(): GzipThread {
  const thread: GzipThread = new GzipThread(() => {
    threads.delete(thread)
    idle.delete(thread)
  })
  threads.add(thread)
  return thread
}
