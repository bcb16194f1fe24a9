import { isUtf8 } from 'node:buffer'
import type { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import { type LineLimit, NEWLINE } from '../lib/line-blocks.ts'
import { parseJson } from '../lib/parse-json.ts'
import { archiveFault, lineFault } from './archive-invalid.ts'
import { closingFault } from './closing-fault.ts'
import { CopyBuffer } from './copy-buffer.ts'
import { EventRows } from './event-rows.ts'
import { createJsonCounter, type JsonCounter } from './json-counter.ts'
import { Ledger } from './ledger.ts'
import { type Entry, isClosing, isLineKind, KNOWN_VERSIONS, type LineContent, type LineKind, toEntry } from './lines.ts'
import { LongEvent } from './long-event.ts'
import { beginsAsRow, type LongRow } from './long-row.ts'
import { expectedAt, misplaced } from './order.ts'
import { parsePlainRow } from './row-lines.ts'
import type { CopyFormat, RowReader } from './row-reader.ts'
import { findJsonFault } from './strict-json.ts'
import { createStructureLimit, STRUCTURE_LIMITS } from './structure-limit.ts'

/** Consecutive `row` lines of one table; `line` is that of the first. */
export interface RowBatch {
  readonly kind: 'row'
  readonly line: number
  readonly table: string
  /** How many rows end in it: a row that is very long comes in pieces. */
  readonly count: number
  /** Of COPY. The rows of a table come in the binary format, in text, or first in binary format and then in text. */
  readonly format: CopyFormat
  /** The rows, as COPY reads them. */
  readonly bytes: BorrowedBytes
}

/** An `event` line. */
export interface EventItem {
  readonly kind: 'event'
  readonly line: number
  readonly content: Omit<LineContent<'event'>, 'rows'>
  /** Its rows as a field of COPY, an array of text, in pieces; undefined where it has no rows. */
  readonly rows: readonly Buffer[] | undefined
}

/** What an archive is read as: its lines one by one, but rows in batches. `line` is 1-based. */
export type ArchiveItem = (Entry<Exclude<LineKind, 'event'>> & { readonly line: number }) | EventItem | RowBatch

export interface LineRules {
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes: number
  /** The longest event, whose rows are held in memory. */
  readonly maxEventLineBytes: number
  /** The longest that is neither a row nor an event: it is parsed, and kept, as a whole. */
  readonly maxStructureLineBytes: number
  /** Whether counts and sums may disagree; the order of lines, names and the `end` line are checked all the same. */
  readonly allowEdited: boolean
}

interface RawLine {
  readonly kind: string
  readonly content: unknown
  /** Names and values in it, about. */
  readonly values: number
}

/** How much of a row is held before it is read piece by piece. */
const HELD_ROW_BYTES = 1024 * 1024

/** Pieces of a row, small enough to take no time. */
const PIECE_BYTES = 128 * 1024

/** Pieces of an event: its rows may be a hundred thousand. */
const EVENT_PIECE_BYTES = 32 * 1024

/** So many rows of an event are written at a time. */
const EVENT_ROWS_AT_ONCE = 1_000

/** How much of a long line is worked on at a time. */
const STEP_BYTES = 1024 * 1024

/** A longer event, and a longer row that is not written as Wharf writes it, are not parsed as a whole. */
const MAX_PARSED_BYTES = 256 * 1024

/** So many rows that have to be parsed are handed on together. */
const MAX_PARSED_ROWS = 1_000

/** How much of a line is enough to recognise its kind. */
const BEGINNING_BYTES = 64

const EVENT_BEGINNING = /^[ \t]*\{[ \t]*"event"[ \t]*:/

const INCOMPLETE = 'has no newline at its end: the archive is incomplete'

const RETURN = 0x0d

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
const WRONG_EVENT = 'event.rows: must be a list of texts, and no other list of the event may be so named'
const NOT_A_LINE = 'must be an object with one key, which is the kind of the line'
const AFTER_END = 'stands after the "end" line, which must be the last'

/**
 * Reads an archive's lines and checks each by itself and in its place.
 * Whatever is wrong is thrown as an AppError, ARCHIVE_INVALID, that names the line and never quotes its values.
 */
export class LineReader {
  readonly #rules: LineRules
  readonly #fault = (...details: [string, ...string[]]): Error => lineFault(this.#line, ...details)
  readonly #ledger: Ledger
  readonly #exceedsStructure = createStructureLimit(STRUCTURE_LIMITS)
  readonly #rows: RowReader
  readonly #eventText = new CopyBuffer()
  #end: ArchiveItem | undefined
  /** Of the line that is being read. */
  #line = 0
  #hasCrLf = false
  #longRow: { readonly row: LongRow; bytes: number } | undefined
  #longEvent: { readonly event: LongEvent; readonly counter: JsonCounter; bytes: number } | undefined
  #passedBytes = 0

  /** @param createRows makes what reads rows; `fault` makes what it throws where one is wrong. */
  constructor(rules: LineRules, createRows: (fault: (detail: string) => Error) => RowReader) {
    this.#rules = rules
    this.#rows = createRows(this.#fault)
    this.#ledger = new Ledger({ sums: !rules.allowEdited, fault: this.#fault })
  }

  /** Bytes of rows and events so far, which are kept nowhere in memory. */
  get passedBytes(): number {
    return this.#passedBytes
  }

  get #mayBeEvent(): boolean {
    return this.#ledger.place === 'system' || this.#ledger.place === 'events'
  }

  /** What is done with a long line that comes next, by its beginning. */
  limitOf(beginning: Buffer): LineLimit {
    const { maxLineBytes, maxEventLineBytes, maxStructureLineBytes } = this.#rules
    const { place } = this.#ledger
    if (place === 'rows' && beginsAsRow(beginning)) {
      return { maxBytes: Math.min(HELD_ROW_BYTES, maxLineBytes), inPieces: true }
    }
    if (this.#mayBeEvent && EVENT_BEGINNING.test(beginning.toString('latin1'))) {
      return { maxBytes: Math.min(MAX_PARSED_BYTES, maxEventLineBytes), inPieces: true }
    }
    return { maxBytes: Math.min(maxLineBytes, maxStructureLineBytes), inPieces: false }
  }

  /**
   * Reads what comes next; each step is the work of a moment.
   *
   * @param block whole lines, or a piece of a row or of an event, as `limitOf` says. Any other line without its newline is taken for
   *   one that was cut.
   */
  *read(block: Buffer): Generator<ArchiveItem | undefined, void, undefined> {
    const lines = this.#line === 0 ? withoutMark(block) : block
    // It is the only line of its block.
    const isLong = lines.at(-1) !== NEWLINE || lines.length > MAX_PARSED_BYTES
    if (this.#longRow || (lines.at(-1) !== NEWLINE && this.#beginsRow(lines, 0))) return yield* this.#readLong(lines)
    if (this.#longEvent || (isLong && this.#beginsEvent(lines))) return yield* this.#readLongEvent(lines)
    this.#checkText(lines)
    let rows = 0
    let parsedRows = 0
    let rowsStart = 0
    for (let start = 0, end = 0; start < lines.length; start = end + 1) {
      if (this.#ledger.place === 'rows') {
        if (rows === 0) rowsStart = start
        const scanned = this.#rows.scan(lines, start)
        rows += scanned.rows
        this.#line += scanned.rows
        start = scanned.end
        if (start === lines.length) break
      }
      end = lines.indexOf(NEWLINE, start)
      this.#line += 1
      if (this.#isBlankAfterEnd(lines, start, end)) continue
      if (end - start > MAX_PARSED_BYTES && this.#beginsRow(lines, start)) {
        // It is the only line of its block.
        this.#line -= 1
        return yield* this.#readLong(lines)
      }
      const { kind, content, values } = yield* this.#parse(lines, start, end)
      if (kind === 'row' && this.#ledger.place === 'rows') {
        if (this.#rows.format === 'binary') {
          // Only its type's input function may know what a value is, so from here on they get them all.
          if (rows > 0) yield this.#toBatch(rows, this.#line - rows, lines.subarray(rowsStart, start))
          rows = 0
          rowsStart = start
          this.#rows.readAsText()
        }
        this.#rows.add(content)
        rows += 1
        parsedRows += 1
        if (parsedRows < MAX_PARSED_ROWS) continue
        yield this.#toBatch(rows, this.#line - rows + 1, lines.subarray(rowsStart, end + 1))
        rows = 0
        parsedRows = 0
        continue
      }
      if (rows > 0) yield this.#toBatch(rows, this.#line - rows, lines.subarray(rowsStart, start))
      rows = 0
      const item = yield* this.#enter({ kind, content, values }, lines.subarray(start, end + 1))
      if (item.kind !== 'end') yield item
    }
    if (rows > 0) yield this.#toBatch(rows, this.#line - rows + 1, lines.subarray(rowsStart))
  }

  /** @returns the `end` line, which counts only now that nothing came after it. */
  finish(): ArchiveItem {
    if (this.#longRow || this.#longEvent) throw this.#fault(INCOMPLETE)
    if (this.#end) return this.#end
    if (this.#line === 0) throw archiveFault('the file is empty, there is no archive in it')
    throw this.#fault('is the last, but there is no "end" line: the archive is incomplete')
  }

  #checkText(lines: Buffer): void {
    if (lines.at(-1) !== NEWLINE) {
      this.#line += 1
      this.#checkLength(lines, 0, lines.length)
      throw this.#fault(this.#end ? AFTER_END : INCOMPLETE)
    }
    if (isUtf8(lines)) return
    for (let start = 0, end = 0; ; start = end + 1) {
      end = lines.indexOf(NEWLINE, start)
      this.#line += 1
      if (!isUtf8(lines.subarray(start, end))) throw this.#fault('is not valid UTF-8')
    }
  }

  #checkLength(lines: Buffer, start: number, end: number): void {
    const { maxBytes, inPieces } = this.limitOf(lines.subarray(start, start + BEGINNING_BYTES))
    const { maxLineBytes, maxEventLineBytes } = this.#rules
    const most = inPieces ? (this.#mayBeEvent ? maxEventLineBytes : maxLineBytes) : maxBytes
    if (end - start > most) throw this.#tooLong(most)
  }

  #tooLong(bytes: number): Error {
    return this.#fault(`is longer than ${bytes} bytes, the most that is read`)
  }

  #beginsRow(lines: Buffer, start: number): boolean {
    return this.#ledger.place === 'rows' && beginsAsRow(lines.subarray(start, start + BEGINNING_BYTES))
  }

  /** @param bytes a piece of a row, or the whole of it. */
  *#readLong(bytes: Buffer): Generator<ArchiveItem, void, undefined> {
    if (!this.#longRow) {
      this.#line += 1
      this.#longRow = { row: this.#rows.beginLong(), bytes: 0 }
    }
    const { row } = this.#longRow
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES)
      this.#rows.addPiece(row, piece)
      this.#longRow.bytes += piece.length
      if (this.#longRow.bytes - 1 > this.#rules.maxLineBytes) throw this.#tooLong(this.#rules.maxLineBytes)
      yield this.#toBatch(row.isWhole ? 1 : 0, this.#line, piece)
    }
    if (bytes.at(-1) !== NEWLINE) return
    if (!row.isWhole) throw this.#fault(`is not JSON; expected ${expectedAt(this.#ledger.place)}`)
    this.#longRow = undefined
  }

  #beginsEvent(lines: Buffer): boolean {
    return this.#mayBeEvent && EVENT_BEGINNING.test(lines.toString('latin1', 0, BEGINNING_BYTES))
  }

  /** @param bytes a piece of an event, or the whole of it. */
  *#readLongEvent(bytes: Buffer): Generator<ArchiveItem | undefined, void, undefined> {
    if (!this.#longEvent) {
      this.#line += 1
      this.#longEvent = { event: new LongEvent(this.#fault), counter: createJsonCounter(), bytes: 0 }
    }
    const { event, counter } = this.#longEvent
    const { maxEventLineBytes } = this.#rules
    for (let start = 0; start < bytes.length; start += EVENT_PIECE_BYTES) {
      const piece = bytes.subarray(start, start + EVENT_PIECE_BYTES)
      const excess = counter.count(piece)
      if (excess !== undefined) throw this.#fault(excess)
      event.read(piece)
      this.#longEvent.bytes += piece.length
      if (this.#longEvent.bytes - 1 > maxEventLineBytes) throw this.#tooLong(maxEventLineBytes)
      const isEnd = start + piece.length === bytes.length && bytes.at(-1) === NEWLINE
      this.#ledger.add('event', isEnd ? 1 : 0, piece)
      this.#passedBytes += piece.length
      yield
    }
    if (bytes.at(-1) !== NEWLINE) return
    this.#longEvent = undefined
    const { frame, rows, rowsText } = event.finish()
    const { kind, content } = yield* this.#toLine(frame)
    const entry = this.#toEntry(kind, content)
    // What looked like a row was none if the two numbers differ: it stood under another name.
    if (entry.kind !== 'event' || (entry.content.rows?.length ?? 0) !== rows) throw this.#fault(WRONG_EVENT)
    yield yield* this.#toEvent(entry.content, rowsText)
  }

  /** @param long the rows of an event that was read in pieces; its `content` has as many, all empty. */
  *#toEvent(
    { rows, ...content }: LineContent<'event'>,
    long: readonly Buffer[] = [],
  ): Generator<undefined, EventItem, undefined> {
    const written = long.length > 0 ? long : rows && [yield* this.#toRowsText(rows)]
    return { kind: 'event', line: this.#line, content, rows: written }
  }

  *#toRowsText(rows: readonly string[]): Generator<undefined, Buffer, undefined> {
    const written = new EventRows(this.#eventText, this.#fault)
    for (const row of rows) {
      written.begin()
      written.add(row)
      written.end()
      if (written.count % EVENT_ROWS_AT_ONCE === 0) yield
    }
    written.endAll()
    return this.#eventText.take().copy()
  }

  #isBlankAfterEnd(lines: Buffer, start: number, end: number): boolean {
    if (!this.#end) return false
    if (lines.toString('utf8', start, end).trim() !== '') throw this.#fault(AFTER_END)
    return true
  }

  *#parse(lines: Buffer, start: number, end: number): Generator<undefined, RawLine, undefined> {
    this.#checkLength(lines, start, end)
    const bytes = lines.subarray(start, end)
    const isLong = bytes.length > STEP_BYTES
    const counter = createJsonCounter()
    for (let counted = 0; counted < bytes.length; counted += STEP_BYTES) {
      const excess = counter.count(bytes.subarray(counted, counted + STEP_BYTES))
      if (excess !== undefined) throw this.#fault(excess)
      if (isLong) yield
    }
    const row = this.#ledger.place === 'rows' ? parsePlainRow(lines, start, end) : undefined
    if (row !== undefined) return { kind: 'row', content: row, values: counter.values }

    if (this.#line === 1) this.#hasCrLf = bytes.at(-1) === RETURN
    if (isLong) yield
    const { kind, content } = yield* this.#toLine(bytes)
    return { kind, content, values: counter.values }
  }

  *#toLine(bytes: Buffer): Generator<undefined, Omit<RawLine, 'values'>, undefined> {
    const isLong = bytes.length > STEP_BYTES
    const value = this.#parseJson(bytes.toString())
    if (isLong) yield
    const problem = findJsonFault(bytes)
    if (problem !== undefined) throw this.#fault(problem)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.#fault(NOT_A_LINE)
    const [only, ...others] = Object.entries(value)
    if (!only || others.length > 0) throw this.#fault(NOT_A_LINE)
    return { kind: only[0], content: only[1] }
  }

  #parseJson(text: string): unknown {
    const value = parseJson(text)
    if (value === undefined) throw this.#fault(`is not JSON; expected ${expectedAt(this.#ledger.place)}`)
    return value
  }

  #toBatch(count: number, line: number, bytes: Buffer): RowBatch {
    this.#ledger.add('row', count, bytes)
    this.#passedBytes += bytes.length
    return { kind: 'row', line, table: this.#ledger.table, count, format: this.#rows.format, bytes: this.#rows.take() }
  }

  *#enter(
    { kind, content, values }: RawLine,
    bytes: Buffer,
  ): Generator<undefined, Exclude<ArchiveItem, RowBatch>, undefined> {
    const entry = this.#toEntry(kind, content)
    if (bytes.length > STEP_BYTES) yield
    const excess = this.#exceedsStructure(entry.kind, { bytes: bytes.length, values })
    if (excess !== undefined) throw this.#fault(excess)
    if (isClosing(entry)) {
      const rules = { allowEdited: this.#rules.allowEdited, hasCrLf: this.#hasCrLf }
      const problem = closingFault(entry, this.#ledger.close(entry.kind), rules)
      if (problem !== undefined) throw this.#fault(problem)
    } else {
      this.#ledger.open(entry, bytes)
    }
    if (entry.kind === 'event') {
      this.#passedBytes += bytes.length
      return yield* this.#toEvent(entry.content)
    }
    const item = { ...entry, line: this.#line }
    if (item.kind === 'rows') this.#rows.begin(this.#ledger.rowColumns, this.#ledger.ownTypes)
    if (item.kind === 'end') this.#end = item
    return item
  }

  #toEntry(kind: string, content: unknown): Entry {
    if (kind === 'row' || !isLineKind(kind)) throw this.#fault(misplaced(kind, this.#ledger.place))
    if (kind === 'archive') this.#checkVersion(content)
    const parsed = toEntry(kind, content)
    if (!parsed.success) throw this.#fault(...parsed.problems)
    return parsed.entry
  }

  /** Before anything else of the line, all of which another version may have changed. */
  #checkVersion(content: unknown): void {
    const version =
      typeof content === 'object' && content !== null && 'version' in content ? content.version : undefined
    if (!Number.isInteger(version) || KNOWN_VERSIONS.some((known) => known === version)) return
    throw this.#fault(`the archive is of version ${version}; known is version ${KNOWN_VERSIONS.join(', ')}`)
  }
}

function withoutMark(block: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK
  return block.subarray(0, length).equals(BYTE_ORDER_MARK) ? block.subarray(length) : block
}
