/** What a chunk is to a section of the stream: some bytes that are wanted by themselves. */
export type SectionOf = (chunk: Buffer) => 'begins' | 'ends' | undefined

/**
 * Cuts bytes into blocks of `blockBytes`, however the chunks that come are cut, but for the last one, and where a section
 * would share a block with a part of another: each stands whole in a block, or begins and ends where blocks do.
 *
 * @param sectionOf whether a section begins or ends with a chunk.
 * @param chunks are copied: each may change when the next is asked for. @param takeBlock memory of `blockBytes`.
 * @yields none that is empty.
 */
export async function* fixedBlocks(
  chunks: AsyncIterable<Buffer>,
  blockBytes: number,
  sectionOf: SectionOf = () => undefined,
  takeBlock: () => Buffer = () => Buffer.allocUnsafe(blockBytes),
): AsyncGenerator<Buffer, void, undefined> {
  let block: Buffer | undefined
  let filled = 0
  /** Where in this block the open section begins; 0 where it began before. */
  let sectionStart: number | undefined
  let isSplit = false
  for await (const chunk of chunks) {
    const boundary = sectionOf(chunk)
    if (boundary === 'begins') sectionStart = filled
    for (let position = 0; position < chunk.length; ) {
      block ??= takeBlock()
      const copied = chunk.copy(block, filled, position)
      position += copied
      filled += copied
      if (filled < blockBytes) continue
      // A section that others have begun the block with does not fit into it: it gets blocks of its own.
      const end: number = sectionStart || filled
      const whole: Buffer = block.subarray(0, end)
      const rest: Buffer = block.subarray(end, filled)
      block = rest.length > 0 ? takeBlock() : undefined
      filled = block ? rest.copy(block) : 0
      yield whole
      isSplit = sectionStart === 0
      if (sectionStart !== undefined) sectionStart = 0
    }
    if (boundary !== 'ends') continue
    if (isSplit && block) {
      yield block.subarray(0, filled)
      block = undefined
      filled = 0
    }
    sectionStart = undefined
    isSplit = false
  }
  if (block) yield block.subarray(0, filled)
}
