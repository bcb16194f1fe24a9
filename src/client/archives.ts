import { type Connection, pathOf, unreachable } from './connection.ts'
import type { components, operations } from './generated/api.ts'

export type Job = components['schemas']['Job']
type Query = NonNullable<operations['importArchive']['parameters']['query']>
export type ExportRequest = operations['exportProjects']['requestBody']['content']['application/json']
export type TransferRequest = operations['transferProject']['requestBody']['content']['application/json']
export type ImportAnswer = operations['importArchive']['responses'][200]['content']['application/json']

/** An archive: its bytes, compressed (gzip, zstd) or not; or an upload that is whole, or the export job that made it. */
export type ArchiveSource =
  | Blob
  | Uint8Array
  | AsyncIterable<Uint8Array>
  | { readonly uploadId: string }
  | { readonly jobId: string }

/** What is imported, and how: as the query of `POST /import`. */
export interface ImportOptions extends Omit<Query, 'dryRun' | 'allowEdited' | 'allowIncomplete'> {
  /** Does all the checks, and answers with what would happen. */
  readonly dryRun?: boolean
  /** Accepts an archive whose rows were edited. */
  readonly allowEdited?: boolean
  /** Accepts an archive that lacks rows of what it was made from. */
  readonly allowIncomplete?: boolean
  readonly signal?: AbortSignal
}

export interface JobOptions {
  /** The same key within 24 hours gives the same job: so a request can be sent again whose answer was lost. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** Archives as streams, and jobs that make, load and move them. */
export interface Archives {
  /**
   * Exports projects while they are read: JSON Lines, not compressed. A stream that ends without an error is a whole archive.
   *
   * @throws {WharfError} also from the stream, where the connection breaks or the export fails.
   */
  readonly exportArchive: (
    request: ExportRequest,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<ReadableStream<Uint8Array>>
  /** Imports an archive: all of it, or nothing. @throws {WharfError} also with an error that the source throws. */
  readonly importArchive: (source: ArchiveSource, options?: ImportOptions) => Promise<ImportAnswer>
  /** Has the service make an archive as a job, to be downloaded once it is there. */
  readonly startExport: (request: ExportRequest, options?: JobOptions) => Promise<Job>
  /** Sends an archive, which is checked at once, and has it loaded as a job. */
  readonly startImport: (source: ArchiveSource, options?: ImportOptions & JobOptions) => Promise<Job>
  /** Copies a project over another one, on this server or another. */
  readonly startTransfer: (request: TransferRequest, options?: JobOptions) => Promise<Job>
}

const ASYNC = { prefer: 'respond-async' }

export function createArchives(connection: Connection): Archives {
  const postJson = (path: string, body: unknown, headers: Record<string, string | undefined>, signal?: AbortSignal) =>
    connection.send(path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
  const start = async (path: string, body: unknown, { idempotencyKey, signal }: JobOptions = {}): Promise<Job> => {
    const answer = await postJson(path, body, { ...ASYNC, 'idempotency-key': idempotencyKey }, signal)
    return (await answer.json()) as Job
  }
  const sendArchive = async (
    source: ArchiveSource,
    { signal, idempotencyKey, ...query }: ImportOptions & JobOptions,
    prefer?: string,
  ): Promise<Response> => {
    const headers = { prefer, 'idempotency-key': idempotencyKey }
    const search = searchOf(query)
    if ('uploadId' in source) {
      const path = pathOf`/uploads/${source.uploadId}/import`
      return connection.send(path + search, { method: 'POST', headers, signal })
    }
    if ('jobId' in source) {
      return connection.send(pathOf`/jobs/${source.jobId}/import` + search, { method: 'POST', headers, signal })
    }
    const { coding, body } = await recognise(source)
    const described = { ...headers, 'content-type': 'application/x-ndjson', 'content-encoding': coding }
    return connection.send(`/import${search}`, { method: 'POST', headers: described, body, signal })
  }
  return {
    async exportArchive(request, { signal } = {}) {
      const { body } = await postJson('/export', request, {}, signal)
      return body === null ? new ReadableStream() : failingAsWharf(body, signal)
    },
    importArchive: async (source, options = {}) => (await (await sendArchive(source, options)).json()) as ImportAnswer,
    startImport: async (source, options = {}) =>
      (await (await sendArchive(source, options, ASYNC.prefer)).json()) as Job,
    startExport: (request, options) => start('/export', request, options),
    startTransfer: (request, options) => start('/transfer', request, options),
  }
}

function searchOf(query: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? '' : `?${search}`
}

/** The same bytes, whose failure is one of the connection. */
function failingAsWharf(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          controller.error(signal?.aborted ? signal.reason : unreachable(error))
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is kept here: what is not taken waits with the service.
    { highWaterMark: 0 },
  )
}

const MAGIC = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const

const codingOf = (start: Uint8Array): string | undefined =>
  Object.entries(MAGIC).find(([, magic]) => magic.every((byte, index) => start[index] === byte))?.[0]

/** How an archive is compressed, by its first bytes. */
async function recognise(source: Blob | Uint8Array | AsyncIterable<Uint8Array>) {
  if (source instanceof Uint8Array) return { coding: codingOf(source), body: source }
  if (source instanceof Blob) {
    return { coding: codingOf(new Uint8Array(await source.slice(0, 4).arrayBuffer())), body: source }
  }
  const chunks = source[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let sizeBytes = 0
  while (sizeBytes < 4) {
    const { done, value } = await chunks.next()
    if (done) break
    first.push(value)
    sizeBytes += value.length
  }
  const start = Buffer.concat(first)
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => (start.length > 0 ? controller.enqueue(new Uint8Array(start)) : undefined),
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return { coding: codingOf(start), body }
}
