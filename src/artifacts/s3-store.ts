import { DeleteObjectCommand, HeadObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { notFound } from '../errors.ts'
import type { S3Location, S3Object } from './artifact-location.ts'
import { type ArtifactStore, assertArtifactKey, isArtifactKey } from './artifact-store.ts'
import { createArtifactWriter } from './artifact-writer.ts'
import { createS3Links } from './s3-links.ts'
import { readS3 } from './s3-read.ts'
import { s3Upload } from './s3-upload.ts'
import { translateErrors, unlessNotFound } from './storage-fault.ts'
import { endUploads, sweepUploads } from './sweep-uploads.ts'

const CONNECT_MS = 10_000
/** How long a server may say nothing, in the middle of an answer too. */
const IDLE_MS = 60_000
const ATTEMPTS = 5

/**
 * Keeps artifacts as objects of an S3 bucket, or of one that speaks its language. Region, credentials and endpoint come
 * from where the S3 client always finds them (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, profiles, roles).
 * Buckets are named in the path, never in the host name: every server understands that, those of Amazon too.
 *
 * @param publicUrl the origin at which clients reach the same server; undefined where they do not.
 */
export function openS3Store(location: S3Location, publicUrl?: string): ArtifactStore {
  const { bucket, prefix } = location
  const client = new S3Client({
    forcePathStyle: true,
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: IDLE_MS },
  })
  const objectOf = (key: string): S3Object => {
    assertArtifactKey(key)
    return { Bucket: bucket, Key: prefix + key }
  }
  const sizeOf = async (key: string): Promise<number | undefined> => {
    const object = objectOf(key)
    const found = await translateErrors(unlessNotFound(client.send(new HeadObjectCommand(object))))
    return found?.ContentLength
  }
  const links = publicUrl === undefined ? undefined : createS3Links(publicUrl)
  return {
    create: async (key) => createArtifactWriter(s3Upload(client, objectOf(key))),
    async *read(key, range) {
      const object = objectOf(key)
      const isEmpty = range !== undefined && range.start >= range.end
      if (isEmpty && (await sizeOf(key)) === undefined) throw notFound('artifact', key)
      yield* readS3(client, object, key, range)
    },
    ...(links && { link: async (key, file) => links.link(objectOf(key), file) }),
    size: sizeOf,
    async list(beginning) {
      const keys: string[] = []
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix + beginning })
      await translateErrors(
        (async () => {
          for await (const { Contents: objects = [] } of pages)
            keys.push(...objects.map(({ Key = '' }) => Key.slice(prefix.length)))
        })(),
      )
      return keys.filter(isArtifactKey)
    },
    async remove(key) {
      const object = objectOf(key)
      await translateErrors(endUploads(client, object))
      await translateErrors(client.send(new DeleteObjectCommand(object)))
    },
    sweep: (leftovers) => translateErrors(sweepUploads(client, location, leftovers)),
    async close() {
      client.destroy()
      links?.close()
    },
  }
}
