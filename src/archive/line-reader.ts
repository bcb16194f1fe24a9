import { isUtf8 } from 'node:buffer'
import { BEGINNING_BYTES, type LineLimit, NEWLINE } from '../lib/line-blocks.ts'
import { archiveFault, lineFault } from './archive-invalid.ts'
import type { ArchiveItem, EventItem, RowBatch } from './archive-item.ts'
import { ArchiveSections } from './archive-sections.ts'
import { parsePlainRow, RowCheck } from './check-row.ts'
import { closingFault } from './closing-fault.ts'
import { EventRows } from './event-rows.ts'
import { createJsonCounter, type JsonCounter } from './json-counter.ts'
import { type Entry, isClosing, type LineContent } from './lines.ts'
import { LongEvent } from './long-event.ts'
import { beginsAsRow, LongRow } from './long-row.ts'
import { expectedAt } from './order.ts'
import { countValues, type LineFault, type ParsedLine, parseEntry, parseLine, STEP_BYTES } from './parse-line.ts'
import { PartLines } from './part-lines.ts'
import type { CreateEncoders, Encoders, EventRowsEncoder } from './row-encoder.ts'
import { createStructureLimit, STRUCTURE_LIMITS } from './structure-limit.ts'
import { isFirstPart, isLastPart } from './table-parts.ts'

export interface LineRules {
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes: number
  /** The longest event, whose rows are held in memory; half of the longest line where nobody says otherwise. */
  readonly maxEventLineBytes: number
  /** The longest that is neither a row nor an event: it is parsed, and kept, as a whole. */
  readonly maxStructureLineBytes: number
  /** Whether counts and sums may disagree; the order of lines, names and the `end` line are checked all the same. */
  readonly allowEdited: boolean
}

/** How much of a row is held before it is read piece by piece. */
const HELD_ROW_BYTES = 1024 * 1024

/** Pieces of a row, small enough to take no time. */
const PIECE_BYTES = 128 * 1024

/** Pieces of an event: its rows may be a hundred thousand. */
const EVENT_PIECE_BYTES = 32 * 1024

/** So many rows of an event are written at a time. */
const EVENT_ROWS_AT_ONCE = 1_000

/** A longer event, and a longer row that is not written as Wharf writes it, are not parsed as a whole. */
const MAX_PARSED_BYTES = 256 * 1024

/** So many rows that have to be parsed are handed on together. */
const MAX_PARSED_ROWS = 1_000

const EVENT_BEGINNING = /^[ \t]*\{[ \t]*"event"[ \t]*:/

const INCOMPLETE = 'has no newline at its end: the archive is incomplete'

const RETURN = 0x0d

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
const WRONG_EVENT = 'event.rows: must be a list of texts, and no other list of the event may be so named'
const AFTER_END = 'stands after the "end" line, which must be the last'

/**
 * Reads an archive's lines and checks each by itself and in its place.
 * Whatever is wrong is thrown as an AppError, ARCHIVE_INVALID, that names the line and never quotes its values.
 */
export class LineReader {
  readonly #rules: LineRules
  readonly #fault: LineFault = (...details) => lineFault(this.#line, ...details)
  readonly #sections: ArchiveSections
  readonly #exceedsStructure = createStructureLimit(STRUCTURE_LIMITS)
  readonly #encoders: Encoders
  readonly #eventRows: EventRowsEncoder
  readonly #partLines = new PartLines()
  #rowCheck: RowCheck
  #end: ArchiveItem | undefined
  /** Of the line that is being read. */
  #line = 0
  #hasCrLf = false
  #longRow: LongRow | undefined
  #longEvent: { readonly event: LongEvent; readonly counter: JsonCounter } | undefined
  /** Of the long row or event. */
  #longBytes = 0
  #passedBytes = 0

  constructor(rules: LineRules, createEncoders: CreateEncoders) {
    this.#rules = rules
    this.#encoders = createEncoders(rules.maxLineBytes)
    this.#eventRows = this.#encoders.createEventRows()
    this.#rowCheck = new RowCheck([], this.#fault)
    this.#sections = new ArchiveSections({ sums: !rules.allowEdited, fault: this.#fault })
  }

  /** Bytes of rows and events so far, which are kept nowhere in memory. */
  get passedBytes(): number {
    return this.#passedBytes
  }

  get #mayBeEvent(): boolean {
    return this.#sections.position === 'system' || this.#sections.position === 'events'
  }

  /** What is done with a long line that comes next, by its beginning. */
  limitOf(beginning: Buffer): LineLimit {
    const { maxLineBytes, maxEventLineBytes, maxStructureLineBytes } = this.#rules
    if (this.#sections.position === 'rows' && beginsAsRow(beginning)) {
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
    /** Hands on the rows so far, but for the line that begins at `start`. */
    const takeRows = (start: number, line = this.#line): RowBatch => {
      const batch = this.#toBatch(rows, line - rows, lines.subarray(rowsStart, start))
      rows = 0
      parsedRows = 0
      rowsStart = start
      return batch
    }
    for (let start = 0, end = 0; start < lines.length; start = end + 1) {
      if (this.#sections.position === 'rows') {
        if (rows === 0) rowsStart = start
        const scanned = this.#encoders.rows.scan(lines, start)
        rows += scanned.rows
        this.#line += scanned.rows
        start = scanned.end
        if (start === lines.length) break
      }
      end = lines.indexOf(NEWLINE, start)
      if (end - start > MAX_PARSED_BYTES && this.#beginsRow(lines, start)) return yield* this.#readLong(lines)
      this.#line += 1
      if (this.#isBlankAfterEnd(lines, start, end)) continue
      const bytes = lines.subarray(start, end)
      const known = this.#recognise(bytes)
      if (known) {
        this.#checkLength(bytes)
        if (rows > 0) yield takeRows(start)
        this.#enterEntry(known, 0, lines.subarray(start, end + 1))
        yield { ...known, line: this.#line }
        continue
      }
      const { line, values } = yield* this.#parse(bytes)
      if (line.kind === 'row' && this.#sections.position === 'rows') {
        if (this.#encoders.rows.format === 'binary') {
          // Only its type's input function may know what a value is, so from here on they get them all.
          if (rows > 0) yield takeRows(start)
          this.#encoders.rows.useText()
        }
        this.#addRow(line.content)
        rows += 1
        parsedRows += 1
        if (parsedRows === MAX_PARSED_ROWS) yield takeRows(end + 1, this.#line + 1)
        continue
      }
      if (rows > 0) yield takeRows(start)
      const item = yield* this.#enter(line, values, lines.subarray(start, end + 1))
      if (item.kind !== 'end') yield item
    }
    if (rows > 0) yield takeRows(lines.length, this.#line + 1)
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
      this.#checkLength(lines)
      throw this.#fault(this.#end ? AFTER_END : INCOMPLETE)
    }
    if (isUtf8(lines)) return
    for (let start = 0, end = 0; ; start = end + 1) {
      end = lines.indexOf(NEWLINE, start)
      this.#line += 1
      if (!isUtf8(lines.subarray(start, end))) throw this.#fault('is not valid UTF-8')
    }
  }

  #checkLength(line: Buffer): void {
    const { maxBytes, inPieces } = this.limitOf(line.subarray(0, BEGINNING_BYTES))
    const { maxLineBytes, maxEventLineBytes } = this.#rules
    const most = inPieces ? (this.#mayBeEvent ? maxEventLineBytes : maxLineBytes) : maxBytes
    if (line.length > most) throw this.#tooLong(most)
  }

  #tooLong(bytes: number): Error {
    return this.#fault(`is longer than ${bytes} bytes, the most that is read`)
  }

  #beginsRow(lines: Buffer, start: number): boolean {
    return this.#sections.position === 'rows' && beginsAsRow(lines.subarray(start, start + BEGINNING_BYTES))
  }

  /** @param bytes a piece of a row, or the whole of it. */
  *#readLong(bytes: Buffer): Generator<ArchiveItem, void, undefined> {
    if (!this.#longRow) {
      this.#line += 1
      this.#longRow = new LongRow(this.#rowCheck, this.#encoders.rows, this.#fault)
    }
    const row = this.#longRow
    for (const piece of this.#piecesOf(bytes, PIECE_BYTES, this.#rules.maxLineBytes)) {
      row.read(piece)
      yield this.#toBatch(row.isWhole ? 1 : 0, this.#line, piece)
    }
    if (bytes.at(-1) !== NEWLINE) return
    if (!row.isWhole) throw this.#fault(`is not JSON; expected ${expectedAt(this.#sections.position)}`)
    this.#longRow = undefined
  }

  #beginsEvent(lines: Buffer): boolean {
    return this.#mayBeEvent && EVENT_BEGINNING.test(lines.toString('latin1', 0, BEGINNING_BYTES))
  }

  /** @param bytes a piece of an event, or the whole of it. */
  *#readLongEvent(bytes: Buffer): Generator<ArchiveItem | undefined, void, undefined> {
    if (!this.#longEvent) {
      this.#line += 1
      const event = new LongEvent(this.#encoders.createEventRows(), this.#fault)
      this.#longEvent = { event, counter: createJsonCounter() }
    }
    const { event, counter } = this.#longEvent
    const isEnd = bytes.at(-1) === NEWLINE
    for (const piece of this.#piecesOf(bytes, EVENT_PIECE_BYTES, this.#rules.maxEventLineBytes)) {
      const excess = counter.count(piece)
      if (excess !== undefined) throw this.#fault(excess)
      event.read(piece)
      this.#sections.add('event', isEnd && piece.at(-1) === NEWLINE ? 1 : 0, piece)
      this.#passedBytes += piece.length
      yield
    }
    if (!isEnd) return
    this.#longEvent = undefined
    const { frame, rows, encoded } = event.finish()
    const line = yield* parseLine(frame, this.#sections.position, this.#fault)
    const entry = parseEntry(line, this.#sections.position, this.#fault)
    // What looked like a row was none if the two numbers differ: it stood under another name.
    if (entry.kind !== 'event' || (entry.content.rows?.length ?? 0) !== rows) throw this.#fault(WRONG_EVENT)
    yield yield* this.#toEvent(entry.content, encoded)
  }

  /** The pieces of a line that comes in pieces itself. @throws a fault once there are too many of them. */
  *#piecesOf(bytes: Buffer, pieceBytes: number, maxBytes: number): Generator<Buffer, void, undefined> {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      const piece = bytes.subarray(start, start + pieceBytes)
      this.#longBytes += piece.length
      if (this.#longBytes - 1 > maxBytes) throw this.#tooLong(maxBytes)
      yield piece
    }
    if (bytes.at(-1) === NEWLINE) this.#longBytes = 0
  }

  /** @param long the rows of an event that was read in pieces; its `content` has as many, all empty. */
  *#toEvent(
    { rows, ...content }: LineContent<'event'>,
    long: readonly Buffer[] = [],
  ): Generator<undefined, EventItem, undefined> {
    const encoded = long.length > 0 ? long : rows && [yield* this.#encodeRows(rows)]
    return { kind: 'event', line: this.#line, content, rows: encoded }
  }

  *#encodeRows(rows: readonly string[]): Generator<undefined, Buffer, undefined> {
    const encoded = new EventRows(this.#eventRows, this.#fault)
    for (const row of rows) {
      encoded.begin()
      encoded.add(row)
      encoded.end()
      if (encoded.count % EVENT_ROWS_AT_ONCE === 0) yield
    }
    return encoded.finish()
  }

  #isBlankAfterEnd(lines: Buffer, start: number, end: number): boolean {
    if (!this.#end) return false
    if (lines.toString('utf8', start, end).trim() !== '') throw this.#fault(AFTER_END)
    return true
  }

  *#parse(bytes: Buffer): Generator<undefined, { readonly line: ParsedLine; readonly values: number }, undefined> {
    this.#checkLength(bytes)
    const values = yield* countValues(bytes, this.#fault)
    const row = this.#sections.position === 'rows' ? parsePlainRow(bytes) : undefined
    if (row !== undefined) return { line: { kind: 'row', content: row }, values }

    if (this.#line === 1) this.#hasCrLf = bytes.at(-1) === RETURN
    return { line: yield* parseLine(bytes, this.#sections.position, this.#fault), values }
  }

  /** What a line is that stands around a part of a table; undefined for most lines, which are parsed. */
  #recognise(bytes: Buffer): Entry<'rows' | 'rowsEnd'> | undefined {
    switch (this.#sections.position) {
      case 'rows':
        return this.#partLines.closing(bytes)
      case 'parts':
        return this.#partLines.opening(bytes)
      default:
        return undefined
    }
  }

  #addRow(row: unknown): void {
    const check: RowCheck = this.#rowCheck
    check.checkRow(row)
    this.#encoders.rows.add(row)
  }

  #toBatch(count: number, line: number, bytes: Buffer): RowBatch {
    this.#sections.add('row', count, bytes)
    this.#passedBytes += bytes.length
    const { rows } = this.#encoders
    return { kind: 'row', line, table: this.#sections.table, count, format: rows.format, bytes: rows.take() }
  }

  *#enter(
    line: ParsedLine,
    values: number,
    bytes: Buffer,
  ): Generator<undefined, Exclude<ArchiveItem, RowBatch>, undefined> {
    const entry = parseEntry(line, this.#sections.position, this.#fault)
    if (bytes.length > STEP_BYTES) yield
    this.#enterEntry(entry, values, bytes)
    if (entry.kind === 'event') {
      this.#passedBytes += bytes.length
      return yield* this.#toEvent(entry.content)
    }
    const item = { ...entry, line: this.#line }
    if (item.kind === 'rows') this.#beginRows(item.content)
    if (item.kind === 'end') this.#end = item
    return item
  }

  /** Checks a line in its place. */
  #enterEntry(entry: Entry, values: number, bytes: Buffer): void {
    const excess = this.#exceedsStructure(entry.kind, { bytes: bytes.length, values })
    if (excess !== undefined) throw this.#fault(excess)
    if (isClosing(entry)) {
      const rules = { allowEdited: this.#rules.allowEdited, hasCrLf: this.#hasCrLf }
      const last = entry.kind !== 'rowsEnd' || isLastPart(entry.content)
      const problem = closingFault(entry, this.#sections.close(entry.kind, { last }), rules)
      if (problem !== undefined) throw this.#fault(problem)
    } else {
      this.#sections.open(entry, bytes)
    }
  }

  #beginRows(rows: LineContent<'rows'>): void {
    this.#partLines.begin(rows)
    // All parts of a table are encoded as one: it goes on in text where it had to change to text.
    if (!isFirstPart(rows)) return
    this.#rowCheck = new RowCheck(this.#sections.rowColumns, this.#fault)
    this.#encoders.rows.begin(this.#sections.rowColumns, this.#sections.ownTypes)
  }
}

function withoutMark(block: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK
  return block.subarray(0, length).equals(BYTE_ORDER_MARK) ? block.subarray(length) : block
}
