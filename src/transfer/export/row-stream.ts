import type { ReusedMemory } from '../../lib/reused-memory.ts'
import type { RangePage } from '../../rows/portal.ts'
import type { ReadingSession } from './reading-session.ts'
import type { TableCursors } from './table-cursors.ts'

/** Rows of a table that a session has read. */
export interface StreamedPage extends RangePage {
  readonly table: TableCursors
}

/** What a session reads, one table after the other. */
export interface StreamedTable {
  readonly table: TableCursors
  /** Where names are looked up meanwhile, as a statement: those of the stage's own are printed without a schema only then. */
  readonly searchPath: string
}

/** How many bytes a session reads ahead: a range of rows, mostly. */
const MAX_AHEAD_BYTES = 8 * 1024 * 1024

/** As many pages of large tables; each page of a small one takes as much memory. */
const MAX_AHEAD_PAGES = 32

/** Reads tables in a session, ahead of who uses the rows. */
export class RowStream {
  readonly #pages: StreamedPage[] = []
  #bytes = 0
  #ended = false
  /** Of which table, by its index. */
  #failed: { readonly at: number; readonly error: unknown } | undefined
  readonly #tables: readonly StreamedTable[]
  #changed: () => void = () => undefined
  #taken: () => void = () => undefined

  /** Begins to read. @param tables in the order in which their rows are used. @param memory of the pages. */
  constructor(session: ReadingSession, tables: readonly StreamedTable[], memory: ReusedMemory) {
    this.#tables = tables
    void this.#read(session, memory)
  }

  /**
   * @returns the next page of a table, which stays where it is; undefined behind the last one. @throws what PostgreSQL says, but of a
   *   table that is only read ahead: that is told to who reads it.
   */
  async peek(table: TableCursors): Promise<StreamedPage | undefined> {
    for (;;) {
      const [page] = this.#pages
      if (page) return page.table === table ? page : undefined
      if (this.#failed && this.#failed.at <= this.#indexOf(table)) throw this.#failed.error
      if (this.#ended || this.#failed) return undefined
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }

  /** Takes the page that `peek` gave. */
  take(): void {
    const page = this.#pages.shift()
    this.#bytes -= page?.lines.length ?? 0
    this.#taken()
  }

  #indexOf(table: TableCursors): number {
    return this.#tables.findIndex((each) => each.table === table)
  }

  async #read(session: ReadingSession, memory: ReusedMemory): Promise<void> {
    let path: string | undefined
    let at = 0
    try {
      for (const [index, { table, searchPath }] of this.#tables.entries()) {
        at = index
        if (path !== searchPath) await session.execute(searchPath)
        path = searchPath
        for await (const page of session.rows(table, memory)) await this.#add({ ...page, table })
      }
      this.#ended = true
    } catch (error) {
      this.#failed = { at, error }
    }
    this.#changed()
  }

  async #add(page: StreamedPage): Promise<void> {
    this.#pages.push(page)
    this.#bytes += page.lines.length
    this.#changed()
    while (this.#bytes > MAX_AHEAD_BYTES || this.#pages.length > MAX_AHEAD_PAGES) {
      await new Promise<void>((resolve) => {
        this.#taken = resolve
      })
    }
  }
}

/**
 * The rows of a table, in the order in which they are stored.
 *
 * @param streams of the sessions that read it, in the order of `table.sessions`.
 */
export async function* tableRows(
  table: TableCursors,
  streams: readonly RowStream[],
): AsyncGenerator<RangePage, void, undefined> {
  const ended = new Set<RowStream>()
  for (let range = 0; ended.size < streams.length; range += 1) {
    const stream = streams[range % streams.length]
    if (!stream || ended.has(stream)) continue
    for (;;) {
      const page = await stream.peek(table)
      if (!page) ended.add(stream)
      if (page?.range !== range) break
      stream.take()
      yield page
    }
  }
}
