import type { Writable } from 'node:stream'
import type { BorrowedBytes } from './borrowed-bytes.ts'

/**
 * Writes chunks one after the other, and asks for the next once `writable` needs nothing of the one before any more.
 *
 * @param writable calls back only then. @throws what ends it.
 */
export async function writeBorrowed(chunks: AsyncIterable<BorrowedBytes>, writable: Writable): Promise<void> {
  for await (const chunk of chunks) await write(chunk.now, writable)
}

const write = (bytes: Buffer, writable: Writable): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (error?: Error | null): void => reject(writable.errored ?? error ?? new Error('the stream was closed'))
    const close = (): void => fail()
    // One that is destroyed while it writes does not call back.
    writable.once('close', close)
    writable.write(bytes, (error) => {
      writable.off('close', close)
      if (error) fail(error)
      else resolve()
    })
  })
