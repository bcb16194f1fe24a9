import { pipeline, Readable } from 'node:stream'
import { AppError } from '../errors.ts'
import { coalesce } from '../lib/coalesce.ts'
import { errorCode } from '../lib/error-code.ts'
import { NO_ZSTD, zstd } from '../lib/zstd.ts'
import { NotZstd, zstdFrames } from '../lib/zstd-frames.ts'
import { archiveFault } from './archive-invalid.ts'
import { expandsTooMuch, INPUT_CHUNK_BYTES, MAX_RATIO, UNPACKING, withFollowing } from './unpacking.ts'

/** How far back a frame may refer, as a power of two: 8 MiB, the most that HTTP allows (RFC 9659), and what `zstd -19` takes. */
const MAX_WINDOW_LOG = 23

/** So many frames may be as small as they like: each costs as much as a kilobyte of them to begin. */
const FREE_FRAMES = 1_000
const MIN_FRAME_BYTES = 4 * 1024

/**
 * Unpacks zstd, of any number of frames.
 *
 * @param freeBytes as `unpack` has it.
 * @throws {AppError} ARCHIVE_INVALID as `unpack`; UNSUPPORTED_MEDIA_TYPE where Node.js has no zstd.
 */
export async function* unzstd(
  packed: AsyncIterator<Buffer>,
  freeBytes: () => number,
): AsyncGenerator<Buffer, void, undefined> {
  if (!zstd) {
    const remedy = '`zstd -d` unpacks it, and whatever reads archives reads it then'
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', `the file is compressed with zstd, and ${NO_ZSTD}; ${remedy}`)
  }
  const { createZstdDecompress, constants } = zstd
  const options = { ...UNPACKING, params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG } }
  let readBytes = 0
  let plainBytes = 0
  async function* watched(frame: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const piece of frame) {
      readBytes += piece.length
      yield piece
    }
  }
  try {
    let frames = 0
    for await (const frame of zstdFrames(packed)) {
      const unpacker = createZstdDecompress(options)
      // Whatever fails in the pipeline destroys its last stream with that error, so the loop below throws it.
      pipeline(
        Readable.from(coalesce(watched(frame), INPUT_CHUNK_BYTES), { objectMode: false }),
        unpacker,
        () => undefined,
      )
      for await (const chunk of unpacker) {
        plainBytes += chunk.length
        if (plainBytes > freeBytes() + MAX_RATIO * readBytes) throw expandsTooMuch('zstd')
        yield chunk
      }
      frames += 1
      if (frames > FREE_FRAMES && plainBytes < frames * MIN_FRAME_BYTES) throw tooManyFrames()
    }
  } catch (error) {
    throw toFault(error, readBytes)
  }
}

const tooManyFrames = () =>
  archiveFault(`the zstd data has frames of fewer than ${MIN_FRAME_BYTES} bytes on average, as no archive does`)

function toFault(error: unknown, readBytes: number): unknown {
  if (error instanceof NotZstd) {
    if (error.position === undefined) return archiveFault('the file ends in the middle of its zstd data')
    return withFollowing('zstd', error.position)
  }
  const code = errorCode(error)
  if (code === 'ZSTD_error_frameParameter_windowTooLarge') {
    const remedy = 'compress it without --ultra and --long'
    return archiveFault(
      `unpacking the zstd data takes more than ${2 ** (MAX_WINDOW_LOG - 20)} MiB of memory; ${remedy}`,
    )
  }
  if (code?.startsWith('ZSTD_error_') || code === 'Z_BUF_ERROR') {
    return archiveFault(`the zstd data is damaged, somewhere in the first ${readBytes} bytes of the file`)
  }
  return error
}
