import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, pathOf } from './connection.ts'
import { mayPass, WharfError } from './error.ts'
import type { components } from './generated/api.ts'

export type Upload = components['schemas']['Upload']

/** Sent at a time: what a lost connection costs at most, and how often progress is seen. */
const PIECE_BYTES = 8 * 1024 * 1024

/** Without any progress for so long, it is given up. */
const PATIENCE_MS = 120_000
const PAUSE_MS = 1_000

export interface UploadOptions {
  /** Goes on with an upload that was begun before, of the same bytes. */
  readonly uploadId?: string
  /** Called once the upload is there: keep its id to go on in another process. */
  readonly onBegun?: (upload: Upload) => void
  /** Called with how many bytes are there. */
  readonly onProgress?: (bytes: number) => void
  readonly signal?: AbortSignal
}

export interface Uploads {
  /**
   * Uploads an archive in as many requests as it takes, and goes on after a lost connection.
   *
   * @param file with random access: `await openAsBlob('shop.jsonl.gz')` of `node:fs`.
   * @returns the upload, which is whole: `importArchive({ uploadId: upload.id })`.
   * @throws {WharfError} what the service refused, or UNREACHABLE after two minutes without progress.
   */
  readonly upload: (file: Blob, options?: UploadOptions) => Promise<Upload>
}

export function createUploads(connection: Connection): Uploads {
  const show = async (id: string, signal?: AbortSignal): Promise<Upload> =>
    (await (await connection.send(pathOf`/uploads/${id}`, { signal })).json()) as Upload

  const begin = async (file: Blob, signal?: AbortSignal): Promise<Upload> => {
    const headers = { 'upload-length': String(file.size) }
    return (await (await connection.send('/uploads', { method: 'POST', headers, signal })).json()) as Upload
  }

  const sendPiece = async (file: Blob, { id, offset }: Upload, signal?: AbortSignal): Promise<number> => {
    const answer = await connection.send(pathOf`/uploads/${id}`, {
      method: 'PATCH',
      headers: { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
      body: file.slice(offset, offset + PIECE_BYTES),
      signal,
    })
    return Number(answer.headers.get('upload-offset'))
  }

  return {
    async upload(file, { uploadId, onBegun, onProgress, signal } = {}) {
      let upload = uploadId === undefined ? await begin(file, signal) : await show(uploadId, signal)
      if (upload.length !== file.size) {
        const message = `the upload is one of ${upload.length} bytes, and the file has ${file.size}`
        throw new WharfError(message, { code: 'CONFLICT' })
      }
      onBegun?.(upload)
      let lastMs = performance.now()
      while (upload.offset < file.size) {
        try {
          const offset = await sendPiece(file, upload, signal)
          if (offset > upload.offset) lastMs = performance.now()
          upload = { ...upload, offset }
          onProgress?.(offset)
        } catch (error) {
          if (!mayGoOn(error) || performance.now() - lastMs > PATIENCE_MS) throw error
          await delay(PAUSE_MS, undefined, { signal })
          upload = await show(upload.id, signal).catch((again: unknown) => {
            if (mayPass(again)) return upload
            throw again
          })
        }
      }
      return upload
    },
  }
}

/** A conflict is an earlier connection that still sent, or bytes of which fewer, or more, are there than was known. */
const mayGoOn = (error: unknown): boolean =>
  mayPass(error) || (error instanceof WharfError && error.code === 'CONFLICT')
