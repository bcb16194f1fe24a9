/** Passes chunks on, and shows each to `see` first. */
export async function* tap<Chunk>(
  chunks: AsyncIterable<Chunk>,
  see: (chunk: Chunk) => void | Promise<void>,
): AsyncGenerator<Chunk, void, undefined> {
  for await (const chunk of chunks) {
    await see(chunk)
    yield chunk
  }
}
