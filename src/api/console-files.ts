import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A file of the page at `/`, as it is sent. */
export interface ConsoleFile {
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
}

/**
 * Reads the files of the page at `/`, by their names. There are few, and small: no path of a request leads to the disk.
 *
 * @returns no file where the page was not built, as in a checkout that runs from source.
 */
export async function readConsoleFiles(folder: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const mediaType = MEDIA_TYPES[extname(name)]
    if (mediaType === undefined) continue
    files.set(name, toConsoleFile(await readFile(join(folder, name)), mediaType))
  }
  return files
}

export const toConsoleFile = (bytes: Uint8Array, mediaType: string): ConsoleFile => ({
  bytes,
  gzip: gzipSync(bytes, { level: 9 }),
  mediaType,
  etag: `W/"${createHash('sha256').update(bytes).digest('base64url')}"`,
})
