import { AppError } from '../errors.ts'
import { parseArtifactLocation } from './artifact-location.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { openFolderStore } from './folder-store.ts'

/**
 * Opens the store where artifacts are kept; the caller closes it.
 *
 * @param location the path of a folder, or `s3://bucket/prefix`.
 * @param publicUrl where clients reach a store on S3, and may read archives; undefined where they do not.
 * @throws {AppError} CONFIG_INVALID where the location is neither, or a folder with a public URL; STORAGE_UNAVAILABLE
 *   where it can't be used.
 */
export async function createArtifactStore(location: string, publicUrl?: string): Promise<ArtifactStore> {
  const parsed = parseArtifactLocation(location)
  if (parsed.kind === 'folder') {
    if (publicUrl !== undefined) throw notInBucket()
    return openFolderStore(parsed.path)
  }
  // The S3 client takes 22 MB of memory, which those who keep archives in a folder need not pay.
  const { openS3Store } = await import('./s3-store.ts')
  return openS3Store(parsed, publicUrl)
}

const notInBucket = (): AppError =>
  new AppError('CONFIG_INVALID', 'the configuration is not usable', {
    faults: [
      { detail: 'WHARF_ARTIFACTS_PUBLIC_URL needs archives in a bucket: WHARF_ARTIFACTS must be s3://bucket/prefix' },
    ],
  })
