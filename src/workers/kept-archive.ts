import { compressArchive } from '../archive/compress-archive.ts'
import type { KeptArchive } from '../contract/kept-archive.ts'
import { isAppError } from '../errors.ts'
import type { TransferRequest } from '../jobs/catalogue.ts'
import { beginArtifact, publishArtifact } from '../jobs/job-artifacts.ts'
import { specify } from '../jobs/transitions.ts'
import type { UseExport } from '../transfer/export/open-export.ts'
import type { AttemptContext } from './processors/processor.ts'
import { Stopped } from './stopped.ts'

/** Makes the archive of a project, as of one moment, and hands it to `use`. */
export type WithArchive = <T>(use: UseExport<T>) => Promise<T>

/** @returns the archive that an earlier attempt has kept; undefined where there is none, or the store has lost it. */
export async function findKept(
  { container }: AttemptContext,
  { kept }: TransferRequest,
): Promise<KeptArchive | undefined> {
  if (!kept || (await container.artifacts.size(kept.key)) !== kept.bytes) return undefined
  return kept
}

/** Notes in the job's record what is kept for its next attempts. @throws {Stopped} where this attempt is not the job's any more. */
export async function noteKept({ container, job }: AttemptContext, request: TransferRequest, kept: KeptArchive) {
  const changed = { request: { ...request, kept }, projectIds: job.projectIds }
  if (!(await specify(container.control.prisma, job, changed))) throw new Stopped('lost')
}

/**
 * Makes an archive, and keeps it until the job has ended: what the next attempt sends is of the same moment.
 *
 * @returns undefined where the store cannot keep it.
 * @throws as making it does.
 */
export async function keepArchive(
  context: AttemptContext,
  request: TransferRequest,
  withArchive: WithArchive,
): Promise<KeptArchive | undefined> {
  try {
    return await storeArchive(context, request, withArchive)
  } catch (error) {
    if (!isAppError(error, 'STORAGE_FULL') && !isAppError(error, 'STORAGE_UNAVAILABLE')) throw error
    const { container, job } = context
    container.logger.warn({ err: error, jobId: job.id }, 'a transfer does not keep the archive that it sends')
    return undefined
  }
}

async function storeArchive(
  context: AttemptContext,
  request: TransferRequest,
  withArchive: WithArchive,
): Promise<KeptArchive> {
  const { container, job, progress, signal } = context
  const {
    id: key,
    writer,
    discard,
  } = await beginArtifact(container, {
    kind: 'input',
    kept: { jobId: job.id, offset: 0 },
  })
  try {
    const notExported = await withArchive(async (archive, missing) => {
      for await (const chunk of compressArchive(archive)) {
        signal.throwIfAborted()
        await writer.write(chunk.now)
        progress.addBytes(chunk.length)
      }
      return missing
    })
    const finished = await writer.commit()
    const kept = { key, bytes: finished.bytes, notExported: [...notExported] }
    await container.control.prisma.$transaction((tx) => publishArtifact(tx, { id: key, jobId: job.id, finished }, null))
    await noteKept(context, request, kept)
    return kept
  } finally {
    await discard()
  }
}
