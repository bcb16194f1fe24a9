import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type pg from 'pg'
import { type BackendMessage, RowDescriptionMessage } from 'pg-protocol/dist/messages.js'
import { Parser } from 'pg-protocol/dist/parser.js'
import { type ByteText, toByteText } from './byte-text.ts'

/**
 * All that Wharf changes in V8 and in `pg`, to take less memory or time. Each change can be switched off by its name in
 * `WHARF_RUNTIME_OFF`; results are the same without.
 */
export const RUNTIME_CHANGES = [
  'liftoff',
  'lean-start',
  'collect',
  'heap-growth',
  'forget-results',
  'byte-text',
  'zlib-output',
] as const

export type RuntimeChange = (typeof RUNTIME_CHANGES)[number]

let off: ReadonlySet<RuntimeChange> = new Set()

/** Whether WebAssembly is compiled once, and never optimised. */
let compilesOnce = false

/** Says which changes to leave out, before anything else is loaded. */
export function prepareRuntime(switchedOff: readonly RuntimeChange[]): void {
  off = new Set(switchedOff)
  // Prisma's query compiler is WebAssembly: to optimise it takes 50 MB of memory, for queries that take longer than their
  // compiling anyway (`npm run bench -- memory`).
  compilesOnce = !off.has('liftoff')
  if (compilesOnce) setFlagsFromString('--liftoff-only')
}

/**
 * Compiles a small module of WebAssembly, and optimises it whatever is done with others: a millisecond for some kilobytes. What
 * it does with rows then takes less than half of the time.
 */
export function compileOptimised(bytes: Uint8Array): WebAssembly.Module {
  // Where V8 compiles a function only when it is first called, it is too late to say how.
  const flags = ['liftoff-only', 'liftoff', 'wasm-lazy-compilation']
  for (const flag of flags) setFlagsFromString(`--no-${flag}`)
  try {
    return new WebAssembly.Module(bytes)
  } finally {
    for (const flag of flags) if (flag !== 'liftoff-only' || compilesOnce) setFlagsFromString(`--${flag}`)
  }
}

/**
 * Starts something, and loads its code, without V8's new space growing to 32 MB for that: none of it would be given
 * back, or needed (`npm run bench -- job-memory`). To go on like this would cost twice the processor time.
 */
export async function startLean<T>(start: () => Promise<T>): Promise<T> {
  if (off.has('lean-start')) return start()
  setFlagsFromString('--optimize-for-size')
  try {
    return await start()
  } finally {
    setFlagsFromString('--no-optimize-for-size')
  }
}

let collect: ((options: { readonly type: 'minor' }) => void) | undefined

/**
 * Gives back the memory of young objects that nobody holds any more. Without that, V8 lets 32 MiB of buffers pile up
 * (`npm run bench -- job-memory`).
 */
export function collectYoung(): void {
  if (off.has('collect')) return
  if (!collect) {
    // V8's own function, which only a context has that is made with this flag.
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc')
  }
  collect?.({ type: 'minor' })
}

/** How many let the heap grow now: V8 has one setting for all. */
let growing = 0

/**
 * Lets the heap grow by 60 % before V8 marks all that is old, until the returned function is called. V8 takes buffers that
 * pass for a heap that grows, and by itself marks whenever it has grown by some 8 MB: forty times per million rows of an
 * import, a second of processor time that COPY lacked (`npm run bench -- import`).
 */
export function letHeapGrow(): () => void {
  if (off.has('heap-growth')) return () => undefined
  const change = (by: 1 | -1): void => {
    growing += by
    // 0 leaves it to V8.
    setFlagsFromString(`--heap-growing-percent=${growing > 0 ? 60 : 0}`)
  }
  change(1)
  return () => change(-1)
}

/**
 * Lets a stream of zstd write into the same memory again, of which all that it has given has been copied. By itself it takes new memory
 * for each half of a megabyte that it gives, for which V8 looks through all of its own again and again
 * (`npm run bench -- database`). Node.js has no setting for it: the property says how much of the memory is used.
 *
 * @param stream gives nothing until more is written to it.
 */
export function reuseOutput(stream: Readable): void {
  if (off.has('zlib-output') || stream.readableLength > 0 || !('_outOffset' in stream)) return
  Reflect.set(stream, '_outOffset', 0)
}

/**
 * Keeps a connection from holding on to the results of queries that are over.
 *
 * Results behind the promises that `pg` makes itself were seen to stay in memory until the whole heap is collected: an
 * export grew by as much as the collector waits for. Behind a promise that is made around the call, they go as soon as
 * nobody uses them (`npm run bench -- memory`).
 */
export function forgetResults(client: pg.ClientBase): void {
  if (off.has('forget-results')) return
  const original = client.query
  const query = (...args: readonly unknown[]): unknown => {
    const [config, values, callback] = args
    const answersItself = [values, callback].some((value) => typeof value === 'function') || isSubmittable(config)
    if (answersItself) return Reflect.apply(original, client, args)
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, result: unknown): void => (error ? reject(error) : resolve(result))
      Reflect.apply(original, client, [config, values, settle])
    }).catch((error: unknown) => {
      // As `pg` does: a stack that leads to the caller, not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error)
      throw error
    })
  }
  Object.defineProperty(client, 'query', { value: query, configurable: true })
}

/** What pg-copy-streams and the like give instead of a query; they settle by themselves. */
const isSubmittable = (config: unknown): boolean =>
  typeof config === 'object' && config !== null && 'submit' in config && typeof config.submit === 'function'

/** A connection that gives byte text does so for the results that have a column of this name. */
export const BYTE_TEXT_COLUMN = 'wharf_byte_text'

/**
 * Makes a client give results with a column of the name `BYTE_TEXT_COLUMN` as bytes; all else stays as it is. To decode
 * them and to encode them again was half of what an export did outside of PostgreSQL: it took 1.21 times as long as COPY as
 * JSON through gzip, and takes 1.12 times as long now (`npm run bench -- time`).
 *
 * `pg` decodes whatever PostgreSQL sends, and has no setting for it. What does so is one method of its parser's reader, of
 * which the client's parser gets another for the rows of such a result.
 */
export function giveByteText(client: pg.Client): void {
  if (off.has('byte-text')) return
  const connection: EventEmitter = Reflect.get(client, 'connection')
  Reflect.set(connection, 'attachListeners', (stream: Readable) => attachParser(connection, stream))
}

/** A value of that column, as a client gives it that was made to give byte text. */
export const readByteText = (value: string): ByteText =>
  off.has('byte-text') ? toByteText(value) : (value as ByteText)

/** What is used of pg-protocol's `BufferReader`. It reads the values of rows by `string`, errors and names by another method. */
interface ValueReader {
  readonly buffer: Buffer
  offset: number
  string(length: number): string
}

/** Does what `pg`'s own does, and watches which rows come. */
function attachParser(connection: EventEmitter, stream: Readable): void {
  const parser = new Parser()
  const reader: ValueReader = Reflect.get(parser, 'reader')
  const decoded = reader.string
  const take = (message: BackendMessage): void => {
    if (message instanceof RowDescriptionMessage) {
      const isByteText = message.fields.some(({ name }) => name === BYTE_TEXT_COLUMN)
      reader.string = isByteText ? undecoded : decoded
    }
    connection.emit('message', message)
    connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message)
  }
  stream.on('data', (chunk: Buffer) => parser.parse(chunk, take))
}

function undecoded(this: ValueReader, length: number): string {
  const text = this.buffer.toString('latin1', this.offset, this.offset + length)
  this.offset += length
  return text
}
