import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'

/**
 * Chunks of this length and longer have been passed on whole when a stream says that it is drained: it says so only of
 * those that fill it, and then only when it holds nothing any more.
 */
const FILLING_BYTES = 128 * 1024

/**
 * Runs a COPY ... FROM STDIN, and sends it what it takes at the speed at which it takes it.
 *
 * @param text what COPY is to read; it is closed where COPY ends before it.
 * @returns how many rows PostgreSQL took.
 * @throws what PostgreSQL says, or what `text` throws; the session is of no use then.
 */
export async function copyInto(
  client: pg.PoolClient,
  statement: string,
  text: AsyncIterable<BorrowedBytes>,
): Promise<number> {
  const copy = client.query(copyFrom(statement))
  const done = finished(copy)
  // Awaited below; failing before that is no unhandled rejection.
  void Promise.allSettled([done])
  let refused = false
  copy.once('error', () => {
    refused = true
  })
  for await (const chunk of text) {
    if (refused) break
    if (!copy.write(chunk.length < FILLING_BYTES ? chunk.copy() : chunk.now))
      await Promise.race([once(copy, 'drain'), done])
  }
  // After a refusal there is nobody on the other side of the stream.
  if (!refused) copy.end()
  await done
  return copy.rowCount
}
