import { type FileHandle, open, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { wrongUse } from '../errors.ts'
import { rethrowing } from '../lib/rethrowing.ts'
import type { CommandContext } from './environment.ts'
import { throwFileFailure, toFileFailure } from './file-failure.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

/** The name for standard input. */
export const STDIN = '-'

const READ_BYTES = 256 * 1024

/** An archive that a command reads. */
export interface ArchiveInput {
  /** For messages. */
  readonly name: string
  /** Undefined for a pipe. */
  readonly sizeBytes: number | undefined
  /** Whether it can be read more than once; what comes through a pipe cannot. */
  readonly isRepeatable: boolean
  /** Reads it, from its beginning, or from a byte of it where it is repeatable. */
  read(from?: number): AsyncIterable<Buffer>
}

/**
 * Opens a file, or standard input for `-`, for as long as `work` takes. A file stays the same however often it is read,
 * also where another one gets its name meanwhile.
 *
 * @throws {AppError} WRONG_USE where there is no such file, or where it may not be read.
 */
export async function withArchiveInput<T>(
  context: CommandContext,
  file: string,
  work: (input: ArchiveInput) => Promise<T>,
): Promise<T> {
  if (file === STDIN) return withStandardInput(context, work)
  const handle = await open(file, 'r').catch(throwFileFailure(file, 'read'))
  try {
    const stats = await handle.stat()
    if (stats.isDirectory()) throw wrongUse(`${file} is a folder; expected an archive`)
    const isRepeatable = stats.isFile()
    const read = (from = 0) => refusing(readChunks(handle, isRepeatable ? from : null, context.signal), file)
    return await work({ name: file, sizeBytes: isRepeatable ? stats.size : undefined, isRepeatable, read })
  } finally {
    await handle.close()
  }
}

/** Makes a pipe readable again and again, by keeping what it brings in a temporary file for as long as `work` takes. */
export async function withRepeatableInput<T>(
  context: CommandContext,
  input: ArchiveInput,
  work: (input: ArchiveInput) => Promise<T>,
): Promise<T> {
  if (input.isRepeatable) return work(input)
  return withTemporaryFolder('a temporary file', async (folder) => {
    const file = join(folder, 'archive')
    await writeFile(file, input.read(), { mode: 0o600, flag: 'wx', signal: context.signal }).catch(
      throwFileFailure(`the temporary file in ${tmpdir()} (TMPDIR)`, 'write'),
    )
    return withArchiveInput(context, file, (spooled) => work({ ...spooled, name: input.name }))
  })
}

async function withStandardInput<T>(
  { environment: { stdin }, signal }: CommandContext,
  work: (input: ArchiveInput) => Promise<T>,
): Promise<T> {
  // Nothing else would end the wait for a writer that writes nothing.
  const stop = (): void => void stdin.destroy()
  signal.addEventListener('abort', stop)
  try {
    return await work({
      name: 'standard input',
      sizeBytes: undefined,
      isRepeatable: false,
      read: () => refusing(stdin, 'standard input'),
    })
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

const refusing = (chunks: AsyncIterable<Buffer>, file: string): AsyncIterable<Buffer> =>
  rethrowing(chunks, (error) => toFileFailure(error, file, 'read'))

/** @param from the position to begin at; null for a pipe, which has none. */
async function* readChunks(
  handle: FileHandle,
  from: number | null,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  for (let position = from; ; ) {
    signal.throwIfAborted()
    const chunk = Buffer.allocUnsafe(READ_BYTES)
    const { bytesRead } = await handle.read(chunk, 0, READ_BYTES, position)
    if (bytesRead === 0) return
    if (position !== null) position += bytesRead
    yield chunk.subarray(0, bytesRead)
  }
}
