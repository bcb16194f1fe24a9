import { isUtf8 } from 'node:buffer'
import { NEWLINE } from '../lib/line-blocks.ts'
import { parseJson } from '../lib/parse-json.ts'
import { archiveFault, lineFault } from './archive-invalid.ts'
import { closingFault } from './closing-fault.ts'
import { Ledger } from './ledger.ts'
import { type Entry, isClosing, isLineKind, KNOWN_VERSIONS, toEntry } from './lines.ts'
import { expectedAt, misplaced } from './order.ts'
import { parsePlainRow } from './row-lines.ts'
import { type CopyFormat, RowReader } from './row-reader.ts'
import { findJsonFault } from './strict-json.ts'
import { createStructureLimit, STRUCTURE_LIMITS } from './structure-limit.ts'

/** Consecutive `row` lines of one table; `line` is that of the first. */
export interface RowBatch {
  readonly kind: 'row'
  readonly line: number
  readonly table: string
  /** How many rows there are. */
  readonly count: number
  /** Of COPY. The rows of a table come in the binary format, in text, or first in binary format and then in text. */
  readonly format: CopyFormat
  /** The rows, as COPY reads them. They are written over as soon as the next item is asked for. */
  readonly bytes: Buffer
}

/** What an archive is read as: its lines one by one, but rows in batches. `line` is 1-based. */
export type ArchiveItem = (Entry & { readonly line: number }) | RowBatch

export interface LineRules {
  /** The longest line that is read, without its newline. */
  readonly maxLineBytes: number
  /** Whether counts and sums may disagree; the order of lines, names and the `end` line are checked all the same. */
  readonly allowEdited: boolean
  /** Whether rows are made for COPY's binary format where they can be, which PostgreSQL reads faster. */
  readonly binary: boolean
}

interface RawLine {
  readonly kind: string
  readonly content: unknown
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
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
  #end: ArchiveItem | undefined
  /** Of the line that is being read. */
  #line = 0
  #hasCrLf = false

  constructor(rules: LineRules) {
    this.#rules = rules
    const { maxLineBytes, binary } = rules
    this.#rows = new RowReader({ maxLineBytes, binary, fault: this.#fault })
    this.#ledger = new Ledger({ sums: !rules.allowEdited, fault: this.#fault })
  }

  /** @param block whole lines. A line without its newline is taken for one that was cut. */
  *read(block: Buffer): Generator<ArchiveItem, void, undefined> {
    const lines = this.#line === 0 ? withoutMark(block) : block
    this.#checkText(lines)
    let rows = 0
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
      const { kind, content } = this.#parse(lines, start, end)
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
        continue
      }
      if (rows > 0) yield this.#toBatch(rows, this.#line - rows, lines.subarray(rowsStart, start))
      rows = 0
      const item = this.#enter(kind, content, lines.subarray(start, end + 1))
      if (item.kind !== 'end') yield item
    }
    if (rows > 0) yield this.#toBatch(rows, this.#line - rows + 1, lines.subarray(rowsStart))
  }

  /** @returns the `end` line, which counts only now that nothing came after it. */
  finish(): ArchiveItem {
    if (this.#end) return this.#end
    if (this.#line === 0) throw archiveFault('the file is empty, there is no archive in it')
    throw this.#fault('is the last, but there is no "end" line: the archive is incomplete')
  }

  #checkText(lines: Buffer): void {
    if (lines.at(-1) !== NEWLINE) {
      this.#line += 1
      if (lines.length > this.#rules.maxLineBytes) throw this.#tooLong()
      throw this.#fault(this.#end ? AFTER_END : 'has no newline at its end: the archive is incomplete')
    }
    if (isUtf8(lines)) return
    for (let start = 0, end = 0; ; start = end + 1) {
      end = lines.indexOf(NEWLINE, start)
      this.#line += 1
      if (!isUtf8(lines.subarray(start, end))) throw this.#fault('is not valid UTF-8')
    }
  }

  #tooLong(): Error {
    return this.#fault(`is longer than ${this.#rules.maxLineBytes} bytes, the most that is read`)
  }

  #isBlankAfterEnd(lines: Buffer, start: number, end: number): boolean {
    if (!this.#end) return false
    if (lines.toString('utf8', start, end).trim() !== '') throw this.#fault(AFTER_END)
    return true
  }

  #parse(lines: Buffer, start: number, end: number): RawLine {
    if (end - start > this.#rules.maxLineBytes) throw this.#tooLong()
    const row = this.#ledger.place === 'rows' ? parsePlainRow(lines, start, end) : undefined
    if (row !== undefined) return { kind: 'row', content: row }

    const text = lines.toString('utf8', start, end)
    if (this.#line === 1) this.#hasCrLf = text.endsWith('\r')
    const value = this.#parseJson(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.#fault(NOT_A_LINE)
    const [only, ...others] = Object.entries(value)
    if (!only || others.length > 0) throw this.#fault(NOT_A_LINE)
    return { kind: only[0], content: only[1] }
  }

  #parseJson(text: string): unknown {
    const value = parseJson(text)
    if (value === undefined) throw this.#fault(`is not JSON; expected ${expectedAt(this.#ledger.place)}`)
    const problem = findJsonFault(text)
    if (problem !== undefined) throw this.#fault(problem)
    return value
  }

  #toBatch(count: number, line: number, bytes: Buffer): RowBatch {
    this.#ledger.add('row', count, bytes)
    return { kind: 'row', line, table: this.#ledger.table, count, format: this.#rows.format, bytes: this.#rows.take() }
  }

  #enter(kind: string, content: unknown, bytes: Buffer): Entry & { readonly line: number } {
    const entry = this.#toEntry(kind, content)
    const excess = this.#exceedsStructure(entry.kind, bytes.length)
    if (excess !== undefined) throw this.#fault(excess)
    if (isClosing(entry)) {
      const rules = { allowEdited: this.#rules.allowEdited, hasCrLf: this.#hasCrLf }
      const problem = closingFault(entry, this.#ledger.close(entry.kind), rules)
      if (problem !== undefined) throw this.#fault(problem)
    } else {
      this.#ledger.open(entry, bytes)
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
