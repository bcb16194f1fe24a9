import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { S3Object } from './artifact-location.ts'
import type { LinkedFile } from './artifact-store.ts'
import { translateErrors } from './storage-fault.ts'

/** For how long reading can begin. A reading that has begun goes on; clocks of the two servers may be minutes apart. */
const LINK_SECONDS = 300

export interface S3Links {
  readonly link: (object: S3Object, file: LinkedFile) => Promise<string>
  readonly close: () => void
}

/**
 * Makes presigned URLs, by which objects are read without credentials. Nothing is asked of the store.
 *
 * @param endpoint the origin at which clients reach the store. It is a part of what is signed.
 */
export function createS3Links(endpoint: string): S3Links {
  const client = new S3Client({ endpoint, forcePathStyle: true, responseChecksumValidation: 'WHEN_REQUIRED' })
  return {
    link: (object, { disposition, mediaType }) =>
      translateErrors(
        getSignedUrl(
          client,
          new GetObjectCommand({
            ...object,
            ResponseContentDisposition: disposition,
            ResponseContentType: mediaType,
            ResponseCacheControl: 'private, no-store',
          }),
          { expiresIn: LINK_SECONDS },
        ),
      ),
    close: () => client.destroy(),
  }
}
