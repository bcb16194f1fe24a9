import type { Container } from '../../container.ts'
import type { Transaction } from '../../database/database.ts'
import { invalidRequest } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { beginArtifact } from '../../jobs/job-artifacts.ts'
import { type Idempotency, requestHash } from '../../jobs/submit.ts'
import { tap } from '../../lib/tap.ts'
import { type Caller, tokenIdOf } from '../../projects/access.ts'
import type { ArchiveProject } from '../../transfer/import/archive-lists.ts'
import { type CheckOptions, checkArchive } from '../../transfer/import/receive-archive.ts'
import { compareTargets, targetSlugs } from '../../transfer/import/targets.ts'
import { acceptJob, idempotencyOf } from './accept-job.ts'

/** An archive that a job is to import. */
export interface JobArchive {
  readonly bytes: AsyncIterable<Buffer>
  readonly targetSlug: string | undefined
  /** How many sessions load it, at most. */
  readonly jobs: number | undefined
  readonly options: CheckOptions
  readonly caller: Caller
  /** The export that made it, where this server did. */
  readonly from?: ImportRequest['from']
  /** Looks again, once the archive has come, whether the caller may have it imported into these targets. */
  readonly authorise: (
    tx: Transaction,
    caller: Caller,
    projects: readonly ArchiveProject[],
    targets: readonly string[],
  ) => Promise<unknown>
}

/**
 * Stores an archive as it comes, checks it on the way as an import would, and makes the job that imports it.
 *
 * @throws {AppError} as an import does where the archive or its targets are at fault, or the token was revoked while
 *   it uploaded; nothing is left of the archive then.
 */
export async function acceptArchive(
  container: Container,
  archive: JobArchive & {
    readonly headers: { readonly 'idempotency-key'?: string | undefined }
    /** What requests with the same key must agree in, where that is not all that the archive has. */
    readonly idempotency?: Idempotency | undefined
  },
) {
  const artifact = await beginArtifact(container, { kind: 'input' })
  try {
    const bytes = tap(archive.bytes, (chunk) => artifact.writer.write(chunk))
    const newJob = await checkForJob(container, { ...archive, bytes })
    const finished = await artifact.writer.commit()
    const hash = (): Buffer => requestHash(newJob.request.request, finished.sha256)
    const idempotency = archive.idempotency ?? idempotencyOf(archive.headers, hash)
    return await acceptJob(
      container,
      { ...newJob, input: { id: artifact.id, finished }, idempotency },
      { isPreferred: true },
    )
  } finally {
    // What became a job's input is no longer this one's to give up.
    await artifact.discard()
  }
}

/**
 * Checks an upload as an import would, and makes the job that imports it and takes the upload.
 *
 * @throws {AppError} as `acceptArchive`; the upload stays then.
 */
export async function acceptUpload(
  container: Container,
  upload: JobArchive & { readonly uploadId: string; readonly idempotency: Idempotency | undefined },
) {
  const { uploadId, idempotency } = upload
  const newJob = await checkForJob(container, upload)
  return acceptJob(container, { ...newJob, input: { uploadId }, idempotency }, { isPreferred: true })
}

async function checkForJob(container: Container, archive: JobArchive) {
  const { targetSlug, jobs, options, caller, authorise, from } = archive
  const projects = await checkArchive(archive.bytes, options)
  if (projects.length === 0) throw invalidRequest('the archive has no project')
  const targets = targetSlugs(projects, targetSlug)
  await compareTargets(container, projects, targets, { countRows: false, tokenId: tokenIdOf(caller) })
  const request = {
    projects: projects.map(({ slug, system, stages }, index) => ({
      slug,
      targetSlug: targets[index] ?? slug,
      system,
      stages: stages.map((stage) => stage.slug),
    })),
    ...(from && { from }),
    allowEdited: options.allowEdited ?? false,
    ...(options.allowIncomplete && { allowIncomplete: true }),
    ...(jobs !== undefined && { jobs }),
  }
  return {
    request: { kind: 'import', request },
    createdBy: tokenIdOf(caller),
    authorise: (tx: Transaction) => authorise(tx, caller, projects, targets),
  } as const
}
