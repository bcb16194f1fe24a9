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

/** Reads tables in a session, ahead of who uses the rows. */
export class RowStream {
  readonly #pages: StreamedPage[] = []
  #bytes = 0
  #state: { readonly ended: boolean; readonly error?: unknown } = { ended: false }
  #changed: () => void = () => undefined
  #taken: () => void = () => undefined

  /** Begins to read. @param tables in the order in which their rows are used. @param memory of the pages. */
  constructor(session: ReadingSession, tables: readonly StreamedTable[], memory: ReusedMemory) {
    void this.#read(session, tables, memory)
  }

  /** @returns the next page, which stays where it is; undefined behind the last one. @throws what PostgreSQL says. */
  async peek(): Promise<StreamedPage | undefined> {
    for (;;) {
      if (this.#pages[0]) return this.#pages[0]
      if (this.#state.ended) {
        if ('error' in this.#state) throw this.#state.error
        return undefined
      }
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

  async #read(session: ReadingSession, tables: readonly StreamedTable[], memory: ReusedMemory): Promise<void> {
    let path: string | undefined
    try {
      for (const { table, searchPath } of tables) {
        if (path !== searchPath) await session.execute(searchPath)
        path = searchPath
        for await (const page of session.rows(table, memory)) await this.#add({ ...page, table })
      }
      this.#state = { ended: true }
    } catch (error) {
      this.#state = { ended: true, error }
    }
    this.#changed()
  }

  async #add(page: StreamedPage): Promise<void> {
    this.#pages.push(page)
    this.#bytes += page.lines.length
    this.#changed()
    while (this.#bytes > MAX_AHEAD_BYTES) {
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
      const page = await stream.peek()
      if (page?.table !== table) ended.add(stream)
      if (page?.table !== table || page.range !== range) break
      stream.take()
      yield page
    }
  }
}
