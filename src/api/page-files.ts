import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { takesGzip } from '../lib/weighted-list.ts'

/** A file of the pages at `/` or `/docs`, as it is sent. */
export interface PageFile {
  readonly bytes: Uint8Array
  /** The same, compressed: a page is painted once its files have arrived. */
  readonly gzip: Uint8Array
  readonly mediaType: string
  readonly etag: string
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html;charset=utf-8',
  '.js': 'text/javascript;charset=utf-8',
  '.css': 'text/css;charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/**
 * Reads the files of pages, by their names. There are few, and small: no path of a request leads to the disk.
 *
 * @returns no file where the page was not built, as in a checkout that runs from source.
 */
export async function readPageFiles(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const files = new Map<string, PageFile>()
  for (const name of names) {
    const mediaType = MEDIA_TYPES[extname(name)]
    if (mediaType === undefined) continue
    files.set(name, toPageFile(await readFile(join(folder, name)), mediaType))
  }
  return files
}

export const toPageFile = (bytes: Uint8Array, mediaType: string): PageFile => ({
  bytes,
  gzip: gzipSync(bytes, { level: 9 }),
  mediaType,
  etag: `W/"${createHash('sha256').update(bytes).digest('base64url')}"`,
})

/** What a request for such a file is asked with. */
export const fileRequestHeaders = z.object({
  'accept-encoding': z.string().optional(),
  'if-none-match': z.string().optional(),
})

/** What an answer with such a file carries. */
export const fileHeaders = {
  'content-encoding': '`gzip` where the client accepts it.',
  vary: 'The headers of the request that the answer depends on.',
  etag: 'Of these bytes.',
  'cache-control': 'How long they may be kept.',
}

/** What a page carries beside that. */
export const pageHeaders = {
  ...fileHeaders,
  'content-security-policy': 'Allows the files of this server, and nothing else.',
}

/** How long a file may be kept whose name says what it holds. */
export const FOR_EVER = 'public, max-age=31536000, immutable'

/**
 * The file, compressed where the client takes that; nothing where it has it. What is sent compressed is another text,
 * with an `ETag` that says only what it is of.
 *
 * @param sent headers beside those. They come with a 304, too: a browser takes them for those of the file that it has.
 */
export function toFileAnswer<Sent extends object>(
  file: PageFile,
  headers: z.output<typeof fileRequestHeaders>,
  sent: Sent,
) {
  const all = { ...sent, etag: file.etag, vary: 'accept-encoding' }
  if (headers['if-none-match'] === file.etag) return { status: 304, headers: all } as const
  const isGzip = takesGzip(headers['accept-encoding'])
  return {
    status: 200,
    headers: { ...all, ...(isGzip && ({ 'content-encoding': 'gzip' } as const)) },
    body: isGzip ? file.gzip : file.bytes,
    mediaType: file.mediaType,
  } as const
}
