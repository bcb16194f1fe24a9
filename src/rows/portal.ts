import type { Duplex } from 'node:stream'
import type pg from 'pg'
import { DatabaseSocket } from '../database/database-socket.ts'
import { GrowingBuffer } from '../lib/growing-buffer.ts'
import { ReusedMemory } from '../lib/reused-memory.ts'
import { rowsShare } from '../lib/thread-share.ts'
import { LongRowWriter } from './long-row.ts'
import { MessageReader } from './message-reader.ts'
import { rowLinesWriter } from './row-lines.ts'
import type { ValueForm } from './value-form.ts'

/** A cursor that was declared in the client's transaction. */
export interface Portal {
  readonly name: string
  /** Of its columns but the first, which is a whole number that tells ranges of rows apart, and becomes no part of the lines. */
  readonly forms: readonly ValueForm[]
}

/** Rows of one range, as lines of an archive. A long line may be in several pages, one after the other. */
export interface RangePage {
  readonly range: number
  /** How many begin in it. */
  readonly rows: number
  /** In memory of the pages, to which who has used them gives it back. */
  readonly lines: Buffer
}

/** After how many bytes a page is full. */
const PAGE_BYTES = 256 * 1024

/** With room for one more row, mostly. */
const MEMORY_BYTES = PAGE_BYTES + 128 * 1024

/** Makes the memory of the pages that one export reads. */
export const createPageMemory = (): ReusedMemory => new ReusedMemory(MEMORY_BYTES)

/** How many bytes of pages may wait to be used before PostgreSQL has to wait. */
const MAX_WAITING_BYTES = 1024 * 1024

/**
 * Runs a cursor to its end, and closes it. All rows come in one answer, as fast as they are used: for `FETCH`, PostgreSQL
 * would put them all aside first, or take a round trip for every few.
 *
 * The client is not used for anything else meanwhile. Where the last page is not reached, its session has to be ended.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY: a cursor is a portal.
 */
export async function* readPortal(
  client: pg.ClientBase,
  portal: Portal,
  memory: ReusedMemory,
): AsyncGenerator<RangePage, void, undefined> {
  const query = client.query(new PortalQuery(portal, memory))
  for (;;) {
    const page = await query.next()
    if (!page) return
    yield page
  }
}

/** What is used of `pg`'s connection. */
interface Connection {
  readonly stream: Duplex
  execute(portal: { readonly portal: string; readonly rows: number }): void
  close(what: { readonly type: 'P'; readonly name: string }): void
  sync(): void
}

type DataListener = (chunk: Buffer) => void

const READY_FOR_QUERY = 'Z'.charCodeAt(0)

const NO_BYTES = Buffer.alloc(0)

/** As `pg` runs queries of all kinds: it calls the methods whose names begin with `handle`. */
class PortalQuery implements pg.Submittable {
  readonly #portal: Portal
  readonly #memory: ReusedMemory
  readonly #lines = new GrowingBuffer()
  readonly #writeRows: ReturnType<typeof rowLinesWriter>
  readonly #longRows: LongRowWriter
  /** The page that is being written, if one is. */
  #isWriting = false
  #range = 0
  #rows = 0
  readonly #pages: RangePage[] = []
  #waitingBytes = 0
  #ended: { readonly error?: Error } | undefined
  #stream: Duplex | undefined
  #givesWay = false
  #wake: () => void = () => undefined

  constructor(portal: Portal, memory: ReusedMemory) {
    this.#portal = portal
    this.#memory = memory
    this.#writeRows = rowLinesWriter(portal.forms)
    this.#longRows = new LongRowWriter(portal.forms, this.#lines, (range) => this.#begin(range, 1))
  }

  /** @returns the next page; undefined where there is none any more. @throws what PostgreSQL says. */
  async next(): Promise<RangePage | undefined> {
    for (;;) {
      const page = this.#pages.shift()
      if (page) {
        this.#waitingBytes -= page.lines.length
        this.#readOn()
        return page
      }
      if (this.#ended?.error) throw this.#ended.error
      if (this.#ended) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  submit(pgConnection: unknown): void {
    const connection = pgConnection as Connection
    const { stream } = connection
    const [listener] = stream.listeners('data') as DataListener[]
    if (!listener) throw new Error('nobody reads what this connection gets')
    const reader = new MessageReader({
      rows: (block, start) => this.#add(block, start),
      beginLongRow: (bytes) => this.#longRows.begin(bytes),
      addToLongRow: (block, start, end) => this.#addToLongRow(block, start, end),
      other: (message) => {
        // Before `pg` learns of it, and sends the next query.
        if (message[0] === READY_FOR_QUERY) this.#giveBack(read, listener)
        listener(message)
      },
    })
    const read: DataListener = (chunk) => {
      try {
        rowsShare.count(() => reader.take(chunk))
      } catch (error) {
        // Nobody above would catch it.
        stream.destroy(error instanceof Error ? error : new Error(String(error)))
      }
      if (!this.#stream) return
      if (this.#waitingBytes >= MAX_WAITING_BYTES) stream.pause()
      else if (rowsShare.isUsedUp()) this.#giveWay(stream)
    }
    stream.removeListener('data', listener)
    if (stream instanceof DatabaseSocket) stream.lendBytes(read)
    else stream.on('data', read)
    this.#stream = stream
    const { name } = this.#portal
    connection.execute({ portal: name, rows: 0 })
    connection.close({ type: 'P', name })
    connection.sync()
  }

  handleCommandComplete(): void {
    this.#endPage()
  }

  handleReadyForQuery(): void {
    this.#end({})
  }

  handleError(error: Error): void {
    this.#end({ error })
  }

  /** Reads on once there is time for that. */
  #giveWay(stream: Duplex): void {
    this.#givesWay = true
    stream.pause()
    rowsShare.onceThereIsTime(() => {
      this.#givesWay = false
      this.#readOn()
    })
  }

  #readOn(): void {
    if (!this.#givesWay && this.#waitingBytes < MAX_WAITING_BYTES) this.#stream?.resume()
  }

  #giveBack(read: DataListener, listener: DataListener): void {
    const stream = this.#stream
    this.#stream = undefined
    if (stream instanceof DatabaseSocket) stream.lendBytes(undefined)
    else stream?.removeListener('data', read)
    stream?.on('data', listener)
    stream?.resume()
  }

  #end(ended: { readonly error?: Error }): void {
    this.#ended ??= ended
    this.#wake()
  }

  /** As `MessageTaker` has it. */
  #add(block: Buffer, start: number): number {
    const added = this.#writeRows(block, start)
    this.#begin(added.range, added.rows)
    this.#lines.reserve(added.lines.length)
    this.#lines.length += added.lines.copy(this.#lines.bytes, this.#lines.length)
    if (this.#lines.length >= PAGE_BYTES) this.#endPage()
    return added.end
  }

  #addToLongRow(block: Buffer, start: number, end: number): void {
    const isWhole = this.#longRows.add(block, start, end)
    if (this.#lines.length < PAGE_BYTES) return
    this.#endPage()
    if (!isWhole) this.#begin(this.#range, 0)
  }

  /** Makes ready for rows of a range. */
  #begin(range: number, rows: number): void {
    if (range !== this.#range) this.#endPage()
    this.#range = range
    if (!this.#isWriting) this.#lines.exchange(this.#memory.take())
    this.#isWriting = true
    this.#rows += rows
  }

  #endPage(): void {
    if (!this.#isWriting) return
    const lines = this.#lines.exchange(NO_BYTES)
    this.#pages.push({ range: this.#range, rows: this.#rows, lines })
    this.#waitingBytes += lines.length
    this.#isWriting = false
    this.#rows = 0
    this.#wake()
  }
}
