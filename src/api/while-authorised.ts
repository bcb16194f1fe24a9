/**
 * Passes an answer on for as long as its caller may have it: who asks is looked at again while bytes go out, and not only
 * before the first.
 *
 * @param chunks each is good until the next is asked for.
 * @param assertAuthorised throws where the caller may not have the rest; the answer breaks off there.
 * @param everyMs how long bytes go out between two looks, in milliseconds.
 */
export async function* whileAuthorised<Chunk>(
  chunks: AsyncIterable<Chunk>,
  assertAuthorised: () => Promise<unknown>,
  everyMs: number,
): AsyncGenerator<Chunk, void, undefined> {
  let lookedAtMs = performance.now()
  for await (const chunk of chunks) {
    if (performance.now() - lookedAtMs >= everyMs) {
      await assertAuthorised()
      lookedAtMs = performance.now()
    }
    yield chunk
  }
}
