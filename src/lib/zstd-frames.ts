/** What bytes that should be zstd are instead. */
export class NotZstd extends Error {
  /** Of the first byte that is something else; undefined where bytes are missing at the end. */
  readonly position: number | undefined

  constructor(position?: number) {
    super(position === undefined ? 'the bytes end within a frame' : `no zstd at byte ${position}`)
    this.position = position
  }
}

const FRAME = 0xfd2fb528
const SKIPPABLE = 0x184d2a50
/** What their numbers have in common. */
const SKIPPABLE_MASK = 0xfffffff0

const DICTIONARY_ID_BYTES = [0, 1, 2, 4]
const CONTENT_SIZE_BYTES = [0, 2, 4, 8]
const CHECKSUM_BYTES = 4

/** What a block is, as its header has it: its size counts bytes that follow, but for a byte that is repeated. */
const REPEATED = 1
const RESERVED = 3

/**
 * Tells the frames of zstd data apart (RFC 8878, section 3.1), without unpacking them: Node's zstd reads one, and passes over all
 * that follows it in silence. Frames that are to be skipped are left out.
 *
 * @yields the bytes of each frame, to be read to their end before the next is asked for.
 * @throws {NotZstd} while frames are asked for, and while one is read.
 */
export async function* zstdFrames(
  source: AsyncIterator<Buffer>,
): AsyncGenerator<AsyncGenerator<Buffer, void, undefined>, void, undefined> {
  const bytes = new ByteSource(source)
  while (!(await bytes.isAtEnd())) {
    const { position } = bytes
    const magic = await bytes.take(4)
    const number = magic.readUInt32LE()
    if ((number & SKIPPABLE_MASK) >>> 0 === SKIPPABLE) {
      const size = (await bytes.take(4)).readUInt32LE()
      for await (const _ of bytes.pass(size));
      continue
    }
    if (number !== FRAME) throw new NotZstd(position)
    yield frame(bytes, magic)
  }
}

async function* frame(bytes: ByteSource, magic: Buffer): AsyncGenerator<Buffer, void, undefined> {
  const descriptor = await bytes.take(1)
  const flags = descriptor.readUInt8()
  const isSingleSegment = (flags & 0x20) !== 0
  const hasChecksum = (flags & 0x04) !== 0
  const sizeBytes = CONTENT_SIZE_BYTES[flags >> 6] ?? 0
  const rest = (isSingleSegment ? Math.max(1, sizeBytes) : 1 + sizeBytes) + (DICTIONARY_ID_BYTES[flags & 0x03] ?? 0)
  yield Buffer.concat([magic, descriptor, await bytes.take(rest)])
  for (let isLast = false; !isLast; ) {
    const { position } = bytes
    const header = await bytes.take(3)
    const number = header.readUIntLE(0, 3)
    isLast = (number & 1) === 1
    const type = (number >> 1) & 0x03
    if (type === RESERVED) throw new NotZstd(position)
    yield header
    yield* bytes.pass(type === REPEATED ? 1 : number >> 3)
  }
  if (hasChecksum) yield await bytes.take(CHECKSUM_BYTES)
}

/** Bytes that are taken by number, however the chunks are cut in which they come. */
class ByteSource {
  /** How many were taken. */
  position = 0
  readonly #source: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterator<Buffer>) {
    this.#source = source
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next()
      if (next.done) return true
      this.#chunk = next.value
    }
    return false
  }

  /** @param count few. @throws {NotZstd} where there are not as many. */
  async take(count: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for await (const piece of this.pass(count)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  /** @throws {NotZstd} where there are not as many. */
  async *pass(count: number): AsyncGenerator<Buffer, void, undefined> {
    for (let missing = count; missing > 0; ) {
      if (await this.isAtEnd()) throw new NotZstd()
      const piece = this.#chunk.subarray(0, missing)
      this.#chunk = this.#chunk.subarray(piece.length)
      this.position += piece.length
      missing -= piece.length
      yield piece
    }
  }
}
