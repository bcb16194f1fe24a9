import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { ArchiveSink } from '../export/archive-sink.ts'

const BUFFER_BYTES = 256 * 1024

/**
 * Lets a server take in an archive while it is written: only `finish` ends the upload, and `discard` makes
 * the server give it all up. Writing waits for as long as the server does not keep pace.
 *
 * @param upload sends what comes out of the iterable, and resolves when the server has done its part.
 * @param stopped gets aborted, with the reason, where the server ends it. Every method throws from then on.
 */
export function openUploadSink(
  upload: (bytes: AsyncIterable<Buffer>) => Promise<unknown>,
  stopped: AbortController,
): ArchiveSink {
  const stream = new PassThrough({ highWaterMark: BUFFER_BYTES })
  // The reader gets the error from its iterator. Without a listener, the event would end the process.
  stream.on('error', () => undefined)
  let isDiscarded = false
  const settled = upload(stream).catch((error: unknown) => {
    if (!isDiscarded) stopped.abort(error)
    stream.destroy()
  })
  return {
    async write(chunk) {
      stopped.signal.throwIfAborted()
      if (!stream.write(chunk)) await once(stream, 'drain', { signal: stopped.signal })
    },
    async finish() {
      stream.end()
      await settled
      stopped.signal.throwIfAborted()
    },
    async discard() {
      isDiscarded = true
      stream.destroy()
      await settled
    },
  }
}
