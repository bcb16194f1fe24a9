import { GrowingBuffer } from '../lib/growing-buffer.ts'
import { EventRows } from './event-rows.ts'
import { expectedAt } from './order.ts'
import type { EventRowsEncoder } from './row-encoder.ts'
import { isStorable, UNSTORABLE } from './strict-json.ts'
import { PieceReader } from './string-pieces.ts'

/** How long an event may be without its rows, in bytes: the names of 1,600 key columns have less than half of that. */
const MAX_FRAME_BYTES = 512 * 1024

/** `{"event":{"rows":[` */
const DEPTH_OF_ROWS = 3
const BEFORE_ROWS = /"rows"[ \t\r]*:[ \t\r]*$/
/** Spaces included. */
const MAX_NAME_BYTES = 64

/** An escape of a pair, and a character. */
const MAX_REST_BYTES = 64

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Reads one event piece by piece. Its rows are encoded; of the rest, JSON is kept, with empty rows. */
export class LongEvent {
  readonly #fault: (detail: string) => Error
  readonly #pieces: PieceReader
  readonly #rows: EventRows
  readonly #encoded: Buffer[] = []
  readonly #frame = new GrowingBuffer()
  #depth = 0
  #state: 'outside' | 'string' | 'row' = 'outside'
  #isInRows = false
  #isEscaped = false

  /** @param fault makes what is thrown where something is wrong. */
  constructor(encoder: EventRowsEncoder, fault: (detail: string) => Error) {
    this.#fault = fault
    this.#pieces = new PieceReader(MAX_REST_BYTES, fault, () => fault(`is not JSON; expected ${expectedAt('events')}`))
    this.#rows = new EventRows(encoder, fault)
  }

  /** @param piece what follows; of a few hundred KiB, so that it takes no time. @throws a `fault`. */
  read(piece: Buffer): void {
    this.#pieces.read(piece, (bytes, start) =>
      this.#state === 'row' ? this.#readRow(bytes, start) : this.#readFrame(bytes, start),
    )
    const encoded = this.#rows.take()
    if (encoded.length > 0) this.#encoded.push(encoded)
  }

  /** @returns the line as JSON, its rows empty; how many rows there are; and these encoded, if there are some. */
  finish(): { readonly frame: Buffer; readonly rows: number; readonly encoded: readonly Buffer[] } {
    const { count } = this.#rows
    if (count > 0) this.#encoded.push(this.#rows.finish())
    return { frame: this.#frame.take().copy(), rows: count, encoded: this.#encoded }
  }

  /** @returns the position behind what was read; `start` where nothing more can be told. */
  #readRow(bytes: Buffer, start: number): number {
    const piece = this.#pieces.readString(bytes, start)
    if (!piece) return start
    if (!isStorable(piece.text)) throw this.#fault(UNSTORABLE)
    this.#rows.add(piece.text)
    if (piece.isClosed) {
      this.#rows.end()
      this.#state = 'outside'
      this.#keep(EMPTY_STRING)
    }
    return piece.next
  }

  /** Keeps what is no row. @returns the position behind it. */
  #readFrame(bytes: Buffer, start: number): number {
    for (let at = start; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (this.#state === 'string') {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === BACKSLASH) this.#isEscaped = true
        else if (byte === QUOTE) this.#state = 'outside'
      } else if (byte === QUOTE) {
        if (this.#isInRows && this.#depth === DEPTH_OF_ROWS) {
          this.#keep(bytes.subarray(start, at))
          this.#state = 'row'
          this.#rows.begin()
          return at + 1
        }
        this.#state = 'string'
      } else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
        this.#depth += 1
        if (this.#depth === DEPTH_OF_ROWS) {
          this.#isInRows = byte === OPENING_BRACKET && this.#namesRows(bytes.subarray(start, at))
        }
      } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) {
        this.#depth -= 1
      }
    }
    this.#keep(bytes.subarray(start))
    return bytes.length
  }

  /** @param latest what comes behind all that is kept. */
  #namesRows(latest: Buffer): boolean {
    const last = latest.subarray(-MAX_NAME_BYTES)
    const { bytes, length } = this.#frame
    const before = bytes.toString('latin1', Math.max(0, length - MAX_NAME_BYTES), length)
    return BEFORE_ROWS.test(`${before}${last.toString('latin1')}`)
  }

  #keep(bytes: Buffer): void {
    if (this.#frame.length + bytes.length > MAX_FRAME_BYTES) {
      throw this.#fault(`has more than ${MAX_FRAME_BYTES} bytes besides its rows, the most that is read`)
    }
    this.#frame.reserve(bytes.length)
    this.#frame.length += bytes.copy(this.#frame.bytes, this.#frame.length)
  }
}

const EMPTY_STRING = Buffer.from('""')
