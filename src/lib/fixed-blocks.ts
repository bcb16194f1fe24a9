/**
 * Cuts bytes into blocks of exactly `blockBytes`, but for the last, however the chunks that come are cut.
 *
 * @yields blocks that share memory with a chunk where one lies inside it; none is empty.
 */
export async function* fixedBlocks(
  chunks: AsyncIterable<Buffer>,
  blockBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let block: Buffer | undefined
  let filled = 0
  for await (const chunk of chunks) {
    for (let position = 0; position < chunk.length; ) {
      if (!block && chunk.length - position >= blockBytes) {
        yield chunk.subarray(position, position + blockBytes)
        position += blockBytes
        continue
      }
      block ??= Buffer.allocUnsafe(blockBytes)
      const copied = chunk.copy(block, filled, position)
      position += copied
      filled += copied
      if (filled < blockBytes) continue
      yield block
      block = undefined
      filled = 0
    }
  }
  if (block) yield block.subarray(0, filled)
}
