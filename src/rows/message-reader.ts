/** A message's kind is one byte, its length four; the length counts itself, but not the kind. */
const KIND_BYTES = 1
export const HEADER_BYTES = 5

const DATA_ROW = 'D'.charCodeAt(0)

/** The longest message of a row that is put together where it comes in two pieces. */
export const MAX_SHORT_BYTES = 64 * 1024

/** What becomes of messages, in their order. */
export interface MessageTaker {
  /**
   * Takes a row, and as many as it likes of those that follow in the same block.
   *
   * @param start where its message begins; it is no longer than `MAX_SHORT_BYTES`. @returns where the last one ends.
   */
  rows(block: Buffer, start: number): number
  /** A longer row begins. @param bytes how many its message has, without the header. */
  beginLongRow(bytes: number): void
  /** Takes the next piece of it, from `start` to `end`. */
  addToLongRow(block: Buffer, start: number, end: number): void
  /** Takes any other message, whole, in memory that is used again. */
  other(message: Buffer): void
}

/**
 * Finds the messages in what PostgreSQL sends, without making anything of rows, which are most of it.
 *
 * @see https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 */
export class MessageReader {
  readonly #taker: MessageTaker
  /** New memory for each of them would keep V8's collector busy: one comes with nearly every chunk. */
  #kept: Buffer | undefined
  /** A message whose end has not come, or what holds its header until its length is known. */
  #begun: Buffer | undefined
  /** How much of that has come. */
  #filled = 0
  /** How much of a long row has not come. */
  #longBytes = 0

  constructor(taker: MessageTaker) {
    this.#taker = taker
  }

  /** Takes bytes as they come: messages may begin and end anywhere in them. */
  take(chunk: Buffer): void {
    let at = this.#passLong(chunk, 0)
    while (this.#begun) {
      const copied = chunk.copy(this.#begun, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < this.#begun.length) return
      const message = this.#begun
      this.#begun = undefined
      this.#pass(message, 0)
      at = this.#passLong(chunk, at)
    }
    this.#pass(chunk, at)
  }

  /** Passes on the messages that are whole, and keeps what is left. */
  #pass(block: Buffer, start: number): void {
    let at = start
    while (at + HEADER_BYTES <= block.length) {
      const length = lengthOf(block, at)
      const end = at + length
      const isRow = block[at] === DATA_ROW
      if (isRow && length > MAX_SHORT_BYTES) {
        this.#longBytes = length - HEADER_BYTES
        this.#taker.beginLongRow(this.#longBytes)
        at = this.#passLong(block, at + HEADER_BYTES)
        continue
      }
      if (end > block.length) break
      if (isRow) {
        at = this.#taker.rows(block, at)
      } else {
        this.#taker.other(block.subarray(at, end))
        at = end
      }
    }
    const left = block.length - at
    if (left === 0) return
    const length = left < HEADER_BYTES ? HEADER_BYTES : lengthOf(block, at)
    this.#begun = length > MAX_SHORT_BYTES ? Buffer.allocUnsafeSlow(length) : this.#keptMemory().subarray(0, length)
    this.#filled = block.copy(this.#begun, 0, at)
  }

  /** Passes on what there is of a long row. @returns where it ends. */
  #passLong(block: Buffer, start: number): number {
    const end = Math.min(start + this.#longBytes, block.length)
    if (end === start) return start
    this.#longBytes -= end - start
    this.#taker.addToLongRow(block, start, end)
    return end
  }

  #keptMemory(): Buffer {
    this.#kept ??= Buffer.allocUnsafeSlow(MAX_SHORT_BYTES)
    return this.#kept
  }
}

/** @param at where a message begins. @returns how long it is, whole. */
const lengthOf = (block: Buffer, at: number): number => KIND_BYTES + block.readInt32BE(at + KIND_BYTES)
