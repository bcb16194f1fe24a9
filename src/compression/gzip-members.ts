import { availableParallelism } from 'node:os'
import { type Compressed, GzipThread } from './gzip-thread.ts'

/** As many as libuv has for what Node.js compresses itself, and no more than can run at once. */
const MAX_THREADS = Math.min(4, availableParallelism())

/** The threads of this process, started when they are first needed, and kept for what it compresses later. */
const threads = new Set<GzipThread>()
const idle = new Set<GzipThread>()
/** Who waits for one, in the order in which they came. */
const waiting: (() => void)[] = []

/**
 * Compresses a block as one member of gzip, in a thread of which all exports of the process share a few.
 *
 * @param block at most `BLOCK_BYTES`. @param memory has `MAX_MEMBER_BYTES`. Both are the only ones in their memory, and can't be
 *   used any more. @throws {Error} where the thread fails, or the system has none.
 */
export async function gzipMember(block: Buffer, memory: Buffer): Promise<Compressed> {
  const thread = await takeThread()
  try {
    return await thread.compress(block, memory)
  } finally {
    if (threads.has(thread)) idle.add(thread)
    waiting.shift()?.()
  }
}

async function takeThread(): Promise<GzipThread> {
  for (;;) {
    const [thread = startThread()] = idle
    if (thread) {
      idle.delete(thread)
      return thread
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
}

/** @returns undefined where there are enough. */
function startThread(): GzipThread | undefined {
  if (threads.size === MAX_THREADS) return undefined
  const thread: GzipThread = new GzipThread(() => {
    threads.delete(thread)
    idle.delete(thread)
  })
  threads.add(thread)
  return thread
}
