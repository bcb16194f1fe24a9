import { Readable } from 'node:stream'
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { notFound } from '../errors.ts'
import type { ByteRange } from '../lib/byte-range.ts'
import type { S3Object } from './artifact-location.ts'
import { httpStatus, storageFault } from './storage-fault.ts'

/** The range begins at or after the end of the object: nothing of it is there to be read. */
const HTTP_RANGE_NOT_SATISFIABLE = 416

/** How often a reading is taken up again without having come any further. */
const MAX_RESUMPTIONS = 5

/**
 * Reads an object, or a part of it. An answer that breaks off is resumed where it ended: loading rows may well pause
 * reading for longer than a server keeps a connection open.
 *
 * @param key the artifact, for the error.
 * @throws {AppError} NOT_FOUND, STORAGE_UNAVAILABLE
 */
export async function* readS3(
  client: S3Client,
  object: S3Object,
  key: string,
  range: ByteRange | undefined,
): AsyncGenerator<Buffer> {
  let start = range?.start ?? 0
  let version: string | undefined
  let resumptions = 0
  while (range === undefined || start < range.end) {
    const command = new GetObjectCommand({ ...object, Range: rangeOf(start, range), IfMatch: version })
    try {
      const { Body: body, ETag: etag } = await client.send(command)
      version = etag
      if (!(body instanceof Readable)) throw new Error('the S3 server answered without a body')
      for await (const chunk of body as AsyncIterable<Buffer>) {
        start += chunk.length
        resumptions = 0
        yield chunk
      }
      return
    } catch (error) {
      const status = httpStatus(error)
      if (status === HTTP_RANGE_NOT_SATISFIABLE && version === undefined) return
      if (status === 404) throw notFound('artifact', key)
      if (status !== undefined || version === undefined || resumptions >= MAX_RESUMPTIONS) throw storageFault(error)
      resumptions += 1
    }
  }
}

/** Nothing for the whole, since a range of an object without bytes is refused. */
function rangeOf(start: number, range: ByteRange | undefined): string | undefined {
  if (range) return `bytes=${start}-${range.end - 1}`
  return start === 0 ? undefined : `bytes=${start}-`
}
