import { type ByteText, writeByteText } from '../lib/byte-text.ts'
import { ArchiveSections } from './archive-sections.ts'
import { type ClosingKind, type LineInput, type OpeningKind, toEntry } from './lines.ts'
import { EVENT_PARTS, type PageParts } from './pages.ts'

/** Lists that are left out where they are empty; any other list has to be there, empty or not. */
const OPTIONAL_LISTS = new Set(['notExported', 'unique', 'checks', 'foreignKeys', 'exclusions', 'indexes', 'options'])

/**
 * Writes an archive line by line, and keeps nothing but names, counts and sums. Each method returns the bytes of
 * what it wrote, newlines included; together, in order, they are the archive.
 *
 * A line that cannot stand where it is written, or content that is not of its kind, is a mistake of the caller
 * and throws an Error that is no AppError.
 */
export interface ArchiveWriter {
  /** Writes a line that begins or describes something. */
  open<K extends OpeningKind>(kind: K, content: LineInput<K>): Buffer
  /**
   * Writes the next rows of the table that `open('rows', …)` named.
   *
   * @param rows how many lines begin in `lines`, which may end in the middle of one. They are not looked into.
   */
  rows(rows: number, lines: Buffer): Buffer
  /** Writes the next events: `events` objects, each as JSON, joined by `EVENT_PARTS.join`. They are not looked into. */
  eventPage(events: number, joined: ByteText): Buffer
  /**
   * Writes a line that ends something, with the counts and the sum of what was written since its beginning.
   *
   * @param last of `rowsEnd`: whether the table has no more parts.
   */
  close(kind: ClosingKind, last?: { readonly last: boolean }): Buffer
}

/** Creates the writer of one archive. */
export function createArchiveWriter(): ArchiveWriter {
  const sections = new ArchiveSections({ sums: true, fault: writtenWrongly })

  return {
    open(kind, content) {
      const parsed = toEntry<OpeningKind>(kind, content)
      if (!parsed.success) throw writtenWrongly(parsed.problems.join('; '))
      const bytes = encodeLine(kind, parsed.entry.content)
      sections.open(parsed.entry, bytes)
      return bytes
    },
    rows(rows, lines) {
      if (lines.length > 0) sections.add('row', rows, lines)
      return lines
    },
    eventPage(events, joined) {
      const bytes = encodePage(EVENT_PARTS, events, joined)
      if (events > 0) sections.add('event', events, bytes)
      return bytes
    },
    close(kind, last) {
      return encodeLine(kind, sections.close(kind, last).content)
    },
  }
}

const writtenWrongly = (detail: string) => new Error(`the archive is written wrongly: ${detail}`)

/** A line as it is written, with its newline. */
export function encodeLine(kind: string, content: unknown): Buffer {
  return Buffer.from(`${JSON.stringify({ [kind]: content }, withoutEmptyLists)}\n`)
}

function withoutEmptyLists(key: string, value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 && OPTIONAL_LISTS.has(key) ? undefined : value
}

/** Puts a page into one buffer without joining strings first, so that its text is copied once. */
function encodePage({ prefix, suffix }: PageParts, count: number, joined: ByteText): Buffer {
  if (count === 0) return Buffer.alloc(0)
  const page = Buffer.allocUnsafe(prefix.length + joined.length + suffix.length)
  const start = writeByteText(prefix, page, 0)
  writeByteText(suffix, page, writeByteText(joined, page, start))
  return page
}
