import { GrowingBuffer } from '../../lib/growing-buffer.ts'

/** How much of a script is recorded. */
const MAX_RECORDED_BYTES = 16 * 1024 * 1024

export interface ScriptRecord {
  add(bytes: Buffer): void
  text(): string
}

/** Keeps the text of a script for the record of it, as far as that is not larger than anybody would read. */
export function recordScript(): ScriptRecord {
  const kept = new GrowingBuffer()
  let leftOut = 0
  return {
    add(bytes) {
      const taken = Math.min(bytes.length, MAX_RECORDED_BYTES - kept.length)
      kept.reserve(taken)
      kept.length += bytes.copy(kept.bytes, kept.length, 0, taken)
      leftOut += bytes.length - taken
    },
    text() {
      const text = kept.bytes.toString('utf8', 0, kept.length)
      return leftOut === 0 ? text : `${text}\n-- ${leftOut} more bytes are left out here`
    },
  }
}
