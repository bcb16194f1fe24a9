import type { CallReader } from './failing-relay.ts'

/**
 * Finds the commands in what a client of Redis sends.
 *
 * @see https://redis.io/docs/latest/develop/reference/protocol-spec/
 */
export function readRedisCalls(): CallReader {
  let held: Buffer = Buffer.alloc(0)
  return (chunk) => {
    held = Buffer.concat([held, chunk])
    let calls = 0
    for (let end = commandEnd(held); end !== undefined; end = commandEnd(held)) {
      held = held.subarray(end)
      calls += 1
    }
    return calls
  }
}

/** @returns where the first command ends, an array of strings each with its length; undefined where it goes on. */
function commandEnd(bytes: Buffer): number | undefined {
  const array = numberAt(bytes, 0)
  if (!array) return undefined
  let at = array.end
  for (let left = array.value; left > 0; left -= 1) {
    const string = numberAt(bytes, at)
    if (!string) return undefined
    at = string.end + string.value + 2
  }
  return at <= bytes.length ? at : undefined
}

/** A number behind one byte of type, and where its line ends. */
function numberAt(bytes: Buffer, at: number): { readonly value: number; readonly end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', at)
  return lineEnd < 0 ? undefined : { value: Number(bytes.toString('latin1', at + 1, lineEnd)), end: lineEnd + 2 }
}
