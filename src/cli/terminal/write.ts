import type { Writable } from 'node:stream'
import { errorCode } from '../../lib/error-code.ts'
import { harmless } from './printable.ts'

/**
 * Writes the bytes of an archive as they are, and waits until they are written. All else is text.
 *
 * @throws what the stream says, EPIPE where its reader has gone.
 */
export function writeBytes(stream: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

/** Writes text, without anything that a terminal would obey, and waits until it is written. @throws as `writeBytes`. */
export const writeText = (stream: Writable, text: string): Promise<void> =>
  writeBytes(stream, Buffer.from(harmless(text)))

/** Prints a result. A reader that has gone, `| head` for instance, has seen all that it wanted. */
export async function print(stream: Writable, text: string): Promise<void> {
  try {
    await writeText(stream, `${text}\n`)
  } catch (error) {
    if (errorCode(error) !== 'EPIPE') throw error
  }
}
