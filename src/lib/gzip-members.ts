import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fixedBlocks, type SectionOf } from './fixed-blocks.ts'

const compress = promisify<Buffer, { level: number; chunkSize: number }, Buffer>(gzip)

/** How much plain text one member holds: larger ones gain less than 0.2 % in size. */
const MEMBER_BYTES = 1024 * 1024

/** zlib allocates its output in pieces of this size; a member at level 1 mostly fits into one. */
const OUTPUT_CHUNK_BYTES = 512 * 1024

export interface GzipMembersOptions {
  /** zlib's level; 6 costs 2.5 times as much processor time as 1, for files that are an eighth smaller. */
  readonly level?: number
  /** How many members are compressed at once, on libuv's threads. */
  readonly concurrency?: number
  /** Of which chunks sections begin and end that share no member with a part of another; of none where it is left out. */
  readonly sectionOf?: SectionOf
}

/**
 * Compresses bytes as gzip, one member after another (RFC 1952, section 2.2), several at once.
 *
 * The same bytes with the same sections give the same output, however they are cut into chunks. No bytes at all give one empty member.
 * When the consumer leaves or the source fails, the source is closed and whatever is being compressed is waited for.
 */
export async function* gzipMembers(
  chunks: AsyncIterable<Buffer>,
  { level = 1, concurrency = 4, sectionOf }: GzipMembersOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  /** In the order of their blocks. */
  const members: Promise<Buffer>[] = []
  const compressNext = (block: Buffer): void => {
    const member = compress(block, { level, chunkSize: OUTPUT_CHUNK_BYTES })
    // One that fails before its turn has come is no unhandled rejection: it is awaited when its turn comes.
    void Promise.allSettled([member])
    members.push(member)
  }

  try {
    let isEmpty = true
    for await (const block of fixedBlocks(chunks, MEMBER_BYTES, sectionOf)) {
      isEmpty = false
      compressNext(block)
      if (members.length >= concurrency) yield* members.splice(0, 1)
    }
    if (isEmpty) compressNext(Buffer.alloc(0))
    while (members.length > 0) yield* members.splice(0, 1)
  } finally {
    await Promise.allSettled(members)
  }
}
