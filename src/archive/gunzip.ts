import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { coalesce } from '../lib/coalesce.ts'
import { errorCode } from '../lib/error-code.ts'
import { archiveFault } from './archive-invalid.ts'
import { expandsTooMuch, INPUT_CHUNK_BYTES, MAX_RATIO, UNPACKING, withFollowing } from './unpacking.ts'

/** How much is read ahead of zlib; otherwise each of its chunks would wait for the sender. */
const READ_AHEAD_BYTES = 1024 * 1024

/** Like the source itself, but can be left without closing it. */
async function* remaining(source: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value
}

/**
 * Unpacks gzip, of any number of members.
 *
 * @param freeBytes as `unpack` has it. @throws {AppError} ARCHIVE_INVALID as `unpack`.
 */
export async function* gunzip(
  packed: AsyncIterator<Buffer>,
  freeBytes: () => number,
): AsyncGenerator<Buffer, void, undefined> {
  let readBytes = 0
  let dataBytes = 0
  async function* watched(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of remaining(packed)) {
      const lastData = chunk.findLastIndex((byte) => byte !== 0)
      if (lastData >= 0) dataBytes = readBytes + lastData + 1
      readBytes += chunk.length
      yield chunk
    }
  }

  const inflater = createGunzip(UNPACKING)
  // Whatever fails in the pipeline destroys its last stream with that error, so the loop below throws it.
  const buffering = { objectMode: false, highWaterMark: READ_AHEAD_BYTES }
  pipeline(Readable.from(coalesce(watched(), INPUT_CHUNK_BYTES), buffering), inflater, () => undefined)
  let plainBytes = 0
  try {
    for await (const chunk of inflater) {
      plainBytes += chunk.length
      if (plainBytes > freeBytes() + MAX_RATIO * inflater.bytesWritten) throw expandsTooMuch('gzip')
      yield chunk
    }
  } catch (error) {
    throw toFault(error, readBytes)
  }

  // zlib stops at a zero byte after a member and does not look at what follows.
  const rest = watched()
  while (!(await rest.next()).done);
  if (dataBytes > inflater.bytesWritten) throw withFollowing('gzip', inflater.bytesWritten)
}

const followedWithin = (readBytes: number) =>
  archiveFault(
    `the gzip data ends somewhere in the first ${readBytes} bytes of the file, but something that is not gzip data follows`,
  )

/**
 * Says what zlib's error means for the file; errors of others stay as they are.
 *
 * @param readBytes how much of the file was read by then. Where in it the fault is, zlib does not say: it counts what
 *   it has taken in only after a step that went well.
 */
function toFault(error: unknown, readBytes: number): unknown {
  const code = errorCode(error)
  if (code === 'Z_BUF_ERROR') return archiveFault('the file ends in the middle of its gzip data')
  if (code !== 'Z_DATA_ERROR') return error
  // zlib looks for the header of another member wherever one has ended.
  if (error instanceof Error && error.message === 'incorrect header check') return followedWithin(readBytes)
  return archiveFault(`the gzip data is damaged, somewhere in the first ${readBytes} bytes of the file`)
}
