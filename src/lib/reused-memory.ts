/**
 * Memory that is used again, in buffers of one size: V8 looks through all of its own memory to find out that some of such
 * buffers are not used any more, as often as a few of them have lived for a while.
 */
export class ReusedMemory {
  readonly #bytes: number
  readonly #free: Buffer[] = []

  /** @param bytes how many each buffer has. */
  constructor(bytes: number) {
    this.#bytes = bytes
  }

  /** @returns a buffer with anything in it, which is nobody else's. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes)
  }

  /** @param buffer one that was taken, or part of it, and that nobody uses any more. One of another size is left to V8. */
  giveBack({ buffer }: Buffer): void {
    if (buffer.byteLength === this.#bytes) this.#free.push(Buffer.from(buffer))
  }
}
