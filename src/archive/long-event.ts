import { isUtf8 } from 'node:buffer'
import { parseJson } from '../lib/parse-json.ts'
import { CopyBuffer } from './copy-buffer.ts'
import { EventRows } from './event-rows.ts'
import { isStorable, UNSTORABLE } from './strict-json.ts'
import { endOfCharacters, endOfPiece } from './string-pieces.ts'

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

/** Reads one event piece by piece. Its rows become what COPY reads; of the rest, JSON is kept, with empty rows. */
export class LongEvent {
  readonly #fault: (detail: string) => Error
  readonly #text = new CopyBuffer()
  readonly #rows: EventRows
  readonly #rowsText: Buffer[] = []
  readonly #frame = new CopyBuffer()
  #depth = 0
  #place: 'outside' | 'string' | 'row' = 'outside'
  #isInRows = false
  #isEscaped = false
  /** What could not be told without what follows. */
  #rest: Buffer = Buffer.alloc(0)

  /** @param fault makes what is thrown where something is wrong. */
  constructor(fault: (detail: string) => Error) {
    this.#fault = fault
    this.#rows = new EventRows(this.#text, fault)
  }

  /** @param piece what follows; of a few hundred KiB, so that it takes no time. @throws a `fault`. */
  read(piece: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece
    const whole = bytes.subarray(0, endOfCharacters(bytes))
    if (!isUtf8(whole)) throw this.#fault('is not valid UTF-8')
    let at = 0
    while (at < whole.length) {
      const next = this.#place === 'row' ? this.#readRow(whole, at) : this.#readFrame(whole, at)
      if (next === at) break
      at = next
    }
    // A copy: the piece is large, and what is left of it is not.
    this.#rest = Buffer.from(bytes.subarray(at))
    if (this.#rest.length > MAX_REST_BYTES) throw this.#fault('is not JSON; expected "event" or "systemEnd"')
    if (this.#text.length > 0) this.#rowsText.push(this.#text.take().copy())
  }

  /** @returns the line as JSON, its rows empty; and the rows as a field of COPY, if there are some. */
  finish(): { readonly frame: Buffer; readonly rows: number; readonly rowsText: readonly Buffer[] } {
    const { count } = this.#rows
    if (count > 0) this.#rows.endAll()
    if (count > 0) this.#rowsText.push(this.#text.take().copy())
    return { frame: this.#frame.take().copy(), rows: count, rowsText: this.#rowsText }
  }

  /** @returns the position behind what was read; `start` where nothing more can be told. */
  #readRow(bytes: Buffer, start: number): number {
    const end = endOfPiece(bytes, start)
    const isClosed = bytes[end] === QUOTE
    if (end === start && !isClosed) return start
    const value = parseJson(`"${bytes.toString('utf8', start, end)}"`)
    if (typeof value !== 'string') throw this.#fault('is not JSON; expected "event" or "systemEnd"')
    if (!isStorable(value)) throw this.#fault(UNSTORABLE)
    this.#rows.add(value)
    if (!isClosed) return end
    this.#rows.end()
    this.#place = 'outside'
    this.#keep(EMPTY_STRING)
    return end + 1
  }

  /** Keeps what is no row. @returns the position behind it. */
  #readFrame(bytes: Buffer, start: number): number {
    for (let at = start; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (this.#place === 'string') {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === BACKSLASH) this.#isEscaped = true
        else if (byte === QUOTE) this.#place = 'outside'
      } else if (byte === QUOTE) {
        if (this.#isInRows && this.#depth === DEPTH_OF_ROWS) {
          this.#keep(bytes.subarray(start, at))
          this.#place = 'row'
          this.#rows.begin()
          return at + 1
        }
        this.#place = 'string'
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
