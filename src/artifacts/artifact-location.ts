import { AppError } from '../errors.ts'

/** A location in a bucket. `prefix` is empty, or ends in a slash. */
export interface S3Location {
  readonly kind: 's3'
  readonly bucket: string
  readonly prefix: string
}

/** What the S3 client calls an object. */
export interface S3Object {
  readonly Bucket: string
  readonly Key: string
}

export type ArtifactLocation = { readonly kind: 'folder'; readonly path: string } | S3Location

const S3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/
const FULL_STOPS = /(^|\/)\.{1,2}(\/|$)/

/**
 * Reads where artifacts are to be kept: `s3://bucket`, `s3://bucket/some/prefix`, or else the path of a folder.
 *
 * A folder whose name begins as a URL does, `backup:2026`, is `./backup:2026`: what is meant for a bucket is to be in no folder.
 *
 * @throws {AppError} CONFIG_INVALID where it is another URL, or one of S3 that names no bucket, or is mistyped.
 */
export function parseArtifactLocation(location: string): ArtifactLocation {
  if (!/^([a-z0-9+.-]{2,}:|s3\/\/)/i.test(location)) return { kind: 'folder', path: location }
  const [, bucket, path = ''] = S3.exec(location) ?? []
  const prefix = path.replace(/\/+$/, '')
  if (bucket === undefined || FULL_STOPS.test(prefix) || prefix.startsWith('/')) throw invalidLocation()
  return { kind: 's3', bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}

const invalidLocation = (): AppError =>
  new AppError('CONFIG_INVALID', 'the configuration is not usable', {
    faults: [{ detail: 'WHARF_ARTIFACTS must be the path of a folder, or s3://bucket/prefix' }],
  })
