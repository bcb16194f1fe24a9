import {
  AbortMultipartUploadCommand,
  ChecksumAlgorithm,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { S3Object } from './artifact-location.ts'
import type { ArtifactTarget } from './artifact-writer.ts'

const MEBIBYTE = 1024 * 1024
/** Up to which number parts have which size. */
const PART_SIZES: readonly (readonly [last: number, bytes: number])[] = [
  [100, 8 * MEBIBYTE],
  [200, 16 * MEBIBYTE],
  [250, 32 * MEBIBYTE],
  [1_000, 64 * MEBIBYTE],
  [2_000, 128 * MEBIBYTE],
  [3_000, 256 * MEBIBYTE],
]
const LARGEST_PART_BYTES = 768 * MEBIBYTE
/** How long aborting an upload waits for the part being sent, even while the server does not answer. */
const LAST_PART_MS = 2_000
const DISCARD_MS = 10_000

/**
 * How many bytes the part of this number (from 1) has. Amazon takes 10,000 parts of an upload, which have room here for the
 * 5 TiB that an object may have; other servers take 1,000, which have room for 50 GiB. A growing size rather than a large
 * one, since two parts are held in memory.
 */
export const partBytes = (number: number): number =>
  PART_SIZES.find(([last]) => number <= last)?.[1] ?? LARGEST_PART_BYTES

/**
 * Uploads what is appended as one object: in one request where it is small, else as a multipart upload, one part being
 * sent while the next is collected. The object appears with the last request, whole.
 *
 * @param sizeOf how many bytes the part of a number has.
 */
export function s3Upload(client: S3Client, object: S3Object, sizeOf = partBytes): ArtifactTarget {
  const stop = new AbortController()
  const parts: CompletedPart[] = []
  let uploadId: string | undefined
  let buffer = Buffer.alloc(0)
  let filled = 0
  let begun = 0
  let sending: Promise<void> = Promise.resolve()

  const startUpload = async (): Promise<string> => {
    const command = new CreateMultipartUploadCommand({ ...object, ...(await checksumOf(client)) })
    const { UploadId: id } = await client.send(command)
    if (id === undefined) throw new Error('the S3 server began an upload without an id')
    return id
  }

  const sendPart = async (body: Uint8Array): Promise<void> => {
    uploadId ??= await startUpload()
    await sending
    begun += 1
    sending = uploadPart(uploadId, begun, body)
    // The next await gets its failure; until then it must not count as unhandled.
    sending.catch(() => undefined)
  }

  const uploadPart = async (id: string, number: number, body: Uint8Array): Promise<void> => {
    const command = new UploadPartCommand({ ...object, UploadId: id, PartNumber: number, Body: body })
    const { ETag, ChecksumCRC32 } = await client.send(command, { abortSignal: stop.signal })
    parts.push({ PartNumber: number, ETag, ...(ChecksumCRC32 !== undefined && { ChecksumCRC32 }) })
  }

  return {
    async append(chunk) {
      for (let taken = 0; taken < chunk.length; ) {
        if (buffer.length === 0) buffer = Buffer.allocUnsafeSlow(sizeOf(begun + 1))
        const piece = chunk.subarray(taken, taken + buffer.length - filled)
        buffer.set(piece, filled)
        taken += piece.length
        filled += piece.length
        if (filled < buffer.length) continue
        const part = buffer
        buffer = Buffer.alloc(0)
        filled = 0
        await sendPart(part)
      }
    },
    async publish() {
      const last = buffer.subarray(0, filled)
      if (uploadId === undefined) {
        await client.send(new PutObjectCommand({ ...object, Body: last }))
        return
      }
      if (last.length > 0) await sendPart(last)
      await sending
      const command = { ...object, UploadId: uploadId, MultipartUpload: { Parts: parts } }
      await client.send(new CompleteMultipartUploadCommand(command))
    },
    async discard() {
      // A part that arrives after the end of its upload would be kept, and paid for; so it may still arrive before.
      const timer = setTimeout(() => stop.abort(), LAST_PART_MS)
      await sending.catch(() => undefined)
      clearTimeout(timer)
      if (uploadId === undefined) return
      const command = new AbortMultipartUploadCommand({ ...object, UploadId: uploadId })
      await client.send(command, { abortSignal: AbortSignal.timeout(DISCARD_MS) })
    },
  }
}

/** Parts have checksums by default, and S3 refuses those of a kind that the upload did not begin with. */
async function checksumOf({ config }: S3Client): Promise<{ readonly ChecksumAlgorithm?: ChecksumAlgorithm }> {
  const isDefault = (await config.requestChecksumCalculation()) === 'WHEN_SUPPORTED'
  return isDefault ? { ChecksumAlgorithm: ChecksumAlgorithm.CRC32 } : {}
}
