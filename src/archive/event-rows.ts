import { JsonCheck } from '../lib/check-json.ts'
import type { CopyBuffer } from './copy-buffer.ts'
import { escapeText } from './copy-text.ts'

/**
 * Writes the rows of an event as COPY reads an array of text, and looks whether each is JSON.
 *
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
export class EventRows {
  readonly #text: CopyBuffer
  readonly #fault: (detail: string) => Error
  #check = new JsonCheck()
  #count = 0

  /** @param text gets them. @param fault makes what is thrown where one is no JSON. */
  constructor(text: CopyBuffer, fault: (detail: string) => Error) {
    this.#text = text
    this.#fault = fault
  }

  /** How many have ended. */
  get count(): number {
    return this.#count
  }

  /** Begins with another row. */
  begin(): void {
    this.#text.append(this.#count === 0 ? '{"' : ',"')
    this.#check = new JsonCheck()
  }

  /** Adds to the row that has begun. @param text the characters that follow, none of them cut in two. */
  add(text: string): void {
    this.#check.take(text)
    this.#text.append(escapeText(text.replace(/[\\"]/g, '\\$&')))
  }

  end(): void {
    if (!this.#check.isWhole) throw this.#fault(`event.rows.${this.#count}: must be JSON, written as a string`)
    this.#text.append('"')
    this.#count += 1
  }

  /** Ends the array. */
  endAll(): void {
    this.#text.append(this.#count === 0 ? '{}' : '}')
  }
}
