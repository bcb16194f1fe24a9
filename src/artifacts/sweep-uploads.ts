import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListPartsCommand,
  type ListPartsCommandOutput,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { S3Location, S3Object } from './artifact-location.ts'
import { isArtifactKey, type Leftovers } from './artifact-store.ts'
import { unlessNotFound } from './storage-fault.ts'

/**
 * Ends the multipart uploads of artifacts that nobody goes on with. Others in the same bucket are left alone.
 *
 * @param leftovers the age is that of the last part that arrived, or, without any, of the beginning.
 * @returns how many it ended.
 */
export async function sweepUploads(
  client: S3Client,
  location: S3Location,
  { olderThan, isUnderWay }: Leftovers,
): Promise<number> {
  let ended = 0
  for await (const upload of openUploads(client, { Bucket: location.bucket, Prefix: location.prefix })) {
    const key = (upload.Key ?? '').slice(location.prefix.length)
    if (!isArtifactKey(key)) continue
    const object = { Bucket: location.bucket, Key: upload.Key, UploadId: upload.UploadId }
    const touched = await unlessNotFound(lastTouched(client, object, upload.Initiated))
    if (!touched || touched >= olderThan || (await isUnderWay(key))) continue
    // Its writer may complete or abort an upload between two of our requests.
    await unlessNotFound(client.send(new AbortMultipartUploadCommand(object)))
    ended += 1
  }
  return ended
}

/** Ends whatever multipart uploads there are of one object. */
export async function endUploads(client: S3Client, { Bucket, Key }: S3Object): Promise<void> {
  for await (const upload of openUploads(client, { Bucket, Prefix: Key })) {
    const { UploadId } = upload
    if (upload.Key === Key)
      await unlessNotFound(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })))
  }
}

interface Markers {
  readonly KeyMarker?: string | undefined
  readonly UploadIdMarker?: string | undefined
}

async function* openUploads(
  client: S3Client,
  location: { readonly Bucket: string; readonly Prefix: string },
): AsyncGenerator<MultipartUpload> {
  for (let after: Markers | undefined = {}; after; ) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      ...location,
      ...after,
    })
    const page: ListMultipartUploadsCommandOutput = await client.send(command)
    yield* page.Uploads ?? []
    after = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined
  }
}

interface OpenUpload {
  readonly Bucket: string
  readonly Key: string | undefined
  readonly UploadId: string | undefined
}

async function lastTouched(client: S3Client, upload: OpenUpload, begun: Date | undefined): Promise<Date | undefined> {
  let latest = begun
  // The client's own paginator never ends here: it goes by the next marker, which servers give on the last page too.
  for (let after: { readonly PartNumberMarker?: string | undefined } | undefined = {}; after; ) {
    const page: ListPartsCommandOutput = await client.send(new ListPartsCommand({ ...upload, ...after }))
    for (const { LastModified: arrived } of page.Parts ?? []) {
      if (arrived && (!latest || arrived > latest)) latest = arrived
    }
    after = page.IsTruncated ? { PartNumberMarker: page.NextPartNumberMarker } : undefined
  }
  return latest
}
