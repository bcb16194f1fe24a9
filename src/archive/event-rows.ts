import { JsonCheck } from '../lib/check-json.ts'
import type { EventRowsEncoder } from './row-encoder.ts'

/** The rows of one event: has them encoded, and looks whether each is JSON. */
export class EventRows {
  readonly #encoder: EventRowsEncoder
  readonly #fault: (detail: string) => Error
  #check = new JsonCheck()
  #count = 0

  /** @param fault makes what is thrown where one is no JSON. */
  constructor(encoder: EventRowsEncoder, fault: (detail: string) => Error) {
    this.#encoder = encoder
    this.#fault = fault
  }

  /** How many have ended. */
  get count(): number {
    return this.#count
  }

  begin(): void {
    this.#encoder.beginRow()
    this.#check = new JsonCheck()
  }

  /** Adds to the row that has begun. @param text the characters that follow, none of them cut in two. */
  add(text: string): void {
    this.#check.take(text)
    this.#encoder.add(text)
  }

  end(): void {
    if (!this.#check.isWhole) throw this.#fault(`event.rows.${this.#count}: must be JSON, written as a string`)
    this.#encoder.endRow()
    this.#count += 1
  }

  /** @returns what has been encoded since the last time. */
  take(): Buffer {
    return this.#encoder.take().copy()
  }

  /** @returns the rest, after the last row. */
  finish(): Buffer {
    this.#encoder.endList()
    return this.take()
  }
}
