import type { Entry, LineContent } from './lines.ts'

/** What a line can be whose number has up to nine digits. */
const OPENING_END = /^([1-9]\d{0,8})\}\}\r?$/
const CLOSING_END = /^([1-9]\d{0,8}),"rows":(0|[1-9]\d{0,8}),"sha256":"([0-9a-f]{64})"(,"last":true)?\}\}\r?$/

const LETTER_S = 0x73

/** A longer line is read as all others are. */
const MAX_BYTES = 4_096

/**
 * Recognises the lines that stand around the parts of a table, as Wharf writes them: a table may have two million parts,
 * and parsing these two lines takes longer than all else of a small part. Where bytes are those that the content has when it
 * is written, nothing else needs to be known of them; lines that are written otherwise are parsed.
 */
export class PartLines {
  #rows: LineContent<'rows'> | undefined
  #opening = ''
  #closing = ''

  /** @param rows a section of the table, as it was parsed. */
  begin(rows: LineContent<'rows'>): void {
    const { table, columns, part } = rows
    this.#rows = part === undefined ? undefined : rows
    this.#opening = `${JSON.stringify({ rows: { table, columns } }).slice(0, -2)},"part":`
    this.#closing = `${JSON.stringify({ rowsEnd: { table } }).slice(0, -2)},"part":`
  }

  /** @param line without its newline. @returns undefined for anything but the beginning of a part of this table. */
  opening(line: Buffer): Entry<'rows'> | undefined {
    const [, part] = this.#match(line, this.#opening, OPENING_END) ?? []
    if (part === undefined || !this.#rows) return undefined
    return { kind: 'rows', content: { ...this.#rows, part: Number(part) } }
  }

  /** @param line without its newline. @returns undefined for anything but the end of a part of this table. */
  closing(line: Buffer): Entry<'rowsEnd'> | undefined {
    const [, part, rows, sha256, last] = this.#match(line, this.#closing, CLOSING_END) ?? []
    if (sha256 === undefined || !this.#rows) return undefined
    const { table } = this.#rows
    const content = { table, part: Number(part), rows: Number(rows), sha256, ...(last !== undefined && { last: true }) }
    return { kind: 'rowsEnd', content }
  }

  #match(line: Buffer, beginning: string, end: RegExp): RegExpExecArray | null {
    // Neither is a row: `{"rows`.
    if (!this.#rows || line[5] !== LETTER_S || line.length > MAX_BYTES) return null
    const text = line.toString()
    return text.startsWith(beginning) ? end.exec(text.slice(beginning.length)) : null
  }
}
