import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { unpack } from '../../archive/unpack.ts'
import type { Container } from '../../container.ts'
import { invalidRequest, isAppError } from '../../errors.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { foreignFormat, LONGEST_BEGINNING } from '../../projects/script/foreign-format.ts'
import { rejected } from '../../projects/sql-rejected.ts'
import { createSpoolFile } from '../../transfer/import/spool-file.ts'

/** A script that has arrived. */
export interface ReceivedScript {
  /** Reads it, from the beginning each time. */
  read(signal: AbortSignal): AsyncIterable<BorrowedBytes>
}

/**
 * Receives a script in a file, for as long as `use` takes: no lock is held while it arrives, and it can be read again.
 *
 * @param bytes plain or gzip.
 * @throws {AppError} INVALID_REQUEST where there are none; SQL_REJECTED for what begins as something else than SQL does;
 *   STORAGE_FULL, STORAGE_UNAVAILABLE.
 */
export async function withReceivedScript<T>(
  { spoolFolder, config }: Pick<Container, 'spoolFolder' | 'config'>,
  bytes: AsyncIterable<Buffer>,
  use: (script: ReceivedScript) => Promise<T>,
): Promise<T> {
  const file = await createSpoolFile(join(spoolFolder, `${randomUUID()}.sql`), config.spoolReserveBytes)
  try {
    let beginning = Buffer.alloc(0)
    for await (const chunk of unpacked(bytes)) {
      if (beginning.length < LONGEST_BEGINNING) {
        beginning = Buffer.concat([beginning, chunk.subarray(0, LONGEST_BEGINNING)])
        const fault = foreignFormat(beginning)
        if (fault !== undefined) throw rejected(fault)
      }
      await file.append(new BorrowedBytes(chunk))
    }
    if (file.size === 0) throw invalidRequest('a body of the type application/sql is required')
    await file.finish()
    return await use({ read: (signal) => file.read([{ start: 0, end: file.size }], signal) })
  } finally {
    await file.remove()
  }
}

async function* unpacked(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* unpack(bytes)
  } catch (error) {
    if (isAppError(error, 'ARCHIVE_INVALID')) throw rejected(error.message, { cause: error })
    throw error
  }
}
