/** Passes chunks on; where they end in an error, throws what `translate` makes of it. */
export async function* rethrowing(
  chunks: AsyncIterable<Buffer>,
  translate: (error: unknown) => unknown,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    throw translate(error)
  }
}
