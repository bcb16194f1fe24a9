import { parseArtifactLocation } from './artifact-location.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { openFolderStore } from './folder-store.ts'

/**
 * Opens the store where artifacts are kept; the caller closes it.
 *
 * @param location the path of a folder, or `s3://bucket/prefix`.
 * @throws {AppError} CONFIG_INVALID where it is neither, STORAGE_UNAVAILABLE where it can't be used.
 */
export async function createArtifactStore(location: string): Promise<ArtifactStore> {
  const parsed = parseArtifactLocation(location)
  if (parsed.kind === 'folder') return openFolderStore(parsed.path)
  // The S3 client takes 22 MB of memory, which those who keep archives in a folder need not pay.
  const { openS3Store } = await import('./s3-store.ts')
  return openS3Store(parsed)
}
