import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { coalesce } from '../lib/coalesce.ts'
import { errorCode } from '../lib/error-code.ts'
import { recogniseGzip } from '../lib/recognise-gzip.ts'
import { archiveFault } from './archive-invalid.ts'

/** zlib works in a thread of its own, a chunk at a time: few large ones spare it most of the waiting between them. */
const INPUT_CHUNK_BYTES = 256 * 1024
/** How much is read ahead of zlib; otherwise each of its chunks would wait for the sender. */
const READ_AHEAD_BYTES = 1024 * 1024
const OUTPUT_CHUNK_BYTES = 512 * 1024

const STREAM_OPTIONS = {
  chunkSize: OUTPUT_CHUNK_BYTES,
  // How much may be unpacked before it is read: zlib works on the next chunk while one is being read.
  readableHighWaterMark: 2 * OUTPUT_CHUNK_BYTES,
}

/** What describes a stage shrinks to a thirtieth at most; gzip can reach a thousandth. */
const MAX_RATIO = 200

/**
 * Gives an archive's lines as plain bytes, whether it is compressed (which its first two bytes tell) or not.
 *
 * @param freeBytes how many bytes, by now, may come out of gzip data however small that is.
 * @throws {AppError} ARCHIVE_INVALID where gzip data is damaged, ends too early, is followed by something else than
 *   zero bytes, or expands like nothing that is an archive. What was yielded before is then worth nothing either.
 */
export async function* unpack(
  bytes: AsyncIterable<Buffer>,
  freeBytes: () => number = () => Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, void, undefined> {
  const { isGzip, bytes: source } = await recogniseGzip(bytes)
  try {
    yield* isGzip ? gunzip(source, freeBytes) : source
  } finally {
    await source.return?.()
  }
}

/** Like the source itself, but can be left without closing it. */
async function* remaining(source: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value
}

async function* gunzip(
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

  const inflater = createGunzip(STREAM_OPTIONS)
  // Whatever fails in the pipeline destroys its last stream with that error, so the loop below throws it.
  const buffering = { objectMode: false, highWaterMark: READ_AHEAD_BYTES }
  pipeline(Readable.from(coalesce(watched(), INPUT_CHUNK_BYTES), buffering), inflater, () => undefined)
  let plainBytes = 0
  try {
    for await (const chunk of inflater) {
      plainBytes += chunk.length
      if (plainBytes > freeBytes() + MAX_RATIO * inflater.bytesWritten) throw expandsTooMuch()
      yield chunk
    }
  } catch (error) {
    throw toFault(error, readBytes)
  }

  // zlib stops at a zero byte after a member and does not look at what follows.
  const rest = watched()
  while (!(await rest.next()).done);
  if (dataBytes > inflater.bytesWritten) throw followedBy(inflater.bytesWritten)
}

const expandsTooMuch = () =>
  archiveFault(`the gzip data expands to more than ${MAX_RATIO} times its size, as no archive does`)

const followedBy = (position: number) =>
  archiveFault(`the gzip data ends at byte ${position}, but something that is not gzip data follows`)

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
