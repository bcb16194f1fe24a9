import type { Writable } from 'node:stream'
import { errorCode } from '../../lib/error-code.ts'

/** Writes, and waits until it is written. @throws what the stream says, EPIPE where its reader has gone. */
export function writeAll(stream: Writable, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}

/** Prints a result. A reader that has gone, `| head` for instance, has seen all that it wanted. */
export async function print(stream: Writable, text: string): Promise<void> {
  try {
    await writeAll(stream, `${text}\n`)
  } catch (error) {
    if (errorCode(error) !== 'EPIPE') throw error
  }
}
