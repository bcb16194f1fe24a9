import { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import type { Coding } from '../lib/coding.ts'
import { fixedBlocks, type SectionOf } from '../lib/fixed-blocks.ts'
import { ReusedMemory } from '../lib/reused-memory.ts'
import { BLOCK_BYTES, MAX_MEMBER_BYTES } from './block-bytes.ts'
import { type BlockCompressor, createCompressor } from './block-compressor.ts'

export interface CompressOptions {
  /** By default gzip: whatever reads archives reads that. */
  readonly coding?: Coding
  /** How many blocks are compressed, or wait for a thread, at once. */
  readonly concurrency?: number
  /** Of which chunks sections begin and end that share no member with a part of another; of none where it is left out. */
  readonly sectionOf?: SectionOf
}

/**
 * Compresses bytes as gzip, one member after another (RFC 1952, section 2.2), or as zstd, one frame after another (RFC 8878,
 * section 3), several at once.
 *
 * The same bytes with the same sections give the same output, however they are cut into chunks. No bytes at all give one
 * empty member or frame.
 * Each chunk may change when the next is asked for, and each member or frame does, too. When the consumer leaves or the source fails, the source is closed and whatever is being compressed is waited for.
 */
export async function* compressBlocks(
  chunks: AsyncIterable<Buffer>,
  { coding = 'gzip', concurrency = 4, sectionOf }: CompressOptions = {},
): AsyncGenerator<BorrowedBytes, void, undefined> {
  /** In the order of their blocks. */
  const members: Promise<Buffer>[] = []
  const memory = new ReusedMemory(BLOCK_BYTES)
  const memberMemory = new ReusedMemory(MAX_MEMBER_BYTES)
  const compressors = new Set<BlockCompressor>()
  const idle: BlockCompressor[] = []
  const compressBlock = async (block: Buffer): Promise<Buffer> => {
    const compressor = idle.pop() ?? createCompressor(coding)
    compressors.add(compressor)
    const compressed = await compressor.compress(block, memberMemory.take())
    idle.push(compressor)
    memory.giveBack(compressed.block)
    return compressed.member
  }
  const compressNext = (block: Buffer): void => {
    const member = compressBlock(block)
    // One that fails before its turn has come is no unhandled rejection: it is awaited when its turn comes.
    void Promise.allSettled([member])
    members.push(member)
  }
  async function* oldest(): AsyncGenerator<BorrowedBytes, void, undefined> {
    const member = await members.shift()
    if (!member) return
    yield new BorrowedBytes(member)
    memberMemory.giveBack(member)
  }

  try {
    let isEmpty = true
    for await (const block of fixedBlocks(chunks, BLOCK_BYTES, sectionOf, () => memory.take())) {
      isEmpty = false
      compressNext(block)
      if (members.length >= concurrency) yield* oldest()
    }
    if (isEmpty) compressNext(Buffer.alloc(0))
    while (members.length > 0) yield* oldest()
  } finally {
    await Promise.allSettled(members)
    for (const compressor of compressors) compressor.close()
  }
}
