import { fixedBlocks, type SectionOf } from './fixed-blocks.ts'
import { MemberCompressor } from './member-compressor.ts'
import { ReusedMemory } from './reused-memory.ts'

/** How much plain text one member holds: larger ones gain less than 0.2 % in size. */
const MEMBER_BYTES = 1024 * 1024

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
 * Each chunk may change when the next is asked for. When the consumer leaves or the source fails, the source is closed and whatever is being compressed is waited for.
 */
export async function* gzipMembers(
  chunks: AsyncIterable<Buffer>,
  { level = 1, concurrency = 4, sectionOf }: GzipMembersOptions = {},
): AsyncGenerator<Buffer, void, undefined> {
  /** In the order of their blocks. */
  const members: Promise<Buffer>[] = []
  const memory = new ReusedMemory(MEMBER_BYTES)
  const compressors: MemberCompressor[] = []
  const idle: MemberCompressor[] = []
  const createCompressor = (): MemberCompressor => {
    const compressor = new MemberCompressor(level)
    compressors.push(compressor)
    return compressor
  }
  const compressBlock = async (block: Buffer): Promise<Buffer> => {
    const compressor = idle.pop() ?? createCompressor()
    const member = await compressor.compress(block)
    idle.push(compressor)
    memory.giveBack(block)
    return member
  }
  const compressNext = (block: Buffer): void => {
    const member = compressBlock(block)
    // One that fails before its turn has come is no unhandled rejection: it is awaited when its turn comes.
    void Promise.allSettled([member])
    members.push(member)
  }

  try {
    let isEmpty = true
    for await (const block of fixedBlocks(chunks, MEMBER_BYTES, sectionOf, () => memory.take())) {
      isEmpty = false
      compressNext(block)
      if (members.length >= concurrency) yield* members.splice(0, 1)
    }
    if (isEmpty) compressNext(Buffer.alloc(0))
    while (members.length > 0) yield* members.splice(0, 1)
  } finally {
    await Promise.allSettled(members)
    for (const compressor of compressors) compressor.close()
  }
}
