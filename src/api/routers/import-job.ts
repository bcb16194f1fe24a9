import type { Container } from '../../container.ts'
import type { Transaction } from '../../database/database.ts'
import { invalidRequest } from '../../errors.ts'
import { beginArtifact } from '../../jobs/job-artifacts.ts'
import { requestHash } from '../../jobs/submit.ts'
import { tap } from '../../lib/tap.ts'
import { type Caller, tokenIdOf } from '../../projects/access.ts'
import type { ArchiveProject } from '../../transfer/import/archive-lists.ts'
import { type CheckOptions, checkArchive } from '../../transfer/import/receive-archive.ts'
import { compareTargets, targetSlugs } from '../../transfer/import/targets.ts'
import { acceptJob, idempotencyOf } from './accept-job.ts'

export interface ImportUpload {
  readonly bytes: AsyncIterable<Buffer>
  readonly targetSlug: string | undefined
  readonly options: CheckOptions
  readonly caller: Caller
  /** Looks again, once the archive has come, whether the caller may have it imported into these targets. */
  readonly authorise: (
    tx: Transaction,
    projects: readonly ArchiveProject[],
    targets: readonly string[],
  ) => Promise<unknown>
  readonly headers: { readonly 'idempotency-key'?: string | undefined }
}

/**
 * Stores an upload as it comes, checks it on the way as an import would, and makes the job that imports it.
 *
 * @throws {AppError} as an import does where the archive or its targets are at fault, or the token was revoked while
 *   it uploaded; nothing is left of the upload then.
 */
export async function acceptImport(container: Container, upload: ImportUpload) {
  const { targetSlug, options, caller, authorise, headers } = upload
  const artifact = await beginArtifact(container, { kind: 'input', jobId: null })
  try {
    const stored = tap(upload.bytes, (chunk) => artifact.writer.write(chunk))
    const projects = await checkArchive(stored, options)
    if (projects.length === 0) throw invalidRequest('the archive has no project')
    const targets = targetSlugs(projects, targetSlug)
    await compareTargets(container, projects, targets, { countRows: false, tokenId: tokenIdOf(caller) })
    const finished = await artifact.writer.commit()
    const request = {
      projects: projects.map(({ slug, system, stages }, index) => ({
        slug,
        targetSlug: targets[index] ?? slug,
        system,
        stages: stages.map((stage) => stage.slug),
      })),
      allowEdited: options.allowEdited ?? false,
      ...(options.allowIncomplete && { allowIncomplete: true }),
    }
    const newJob = {
      request: { kind: 'import', request },
      createdBy: tokenIdOf(caller),
      input: { id: artifact.id, finished },
      idempotency: idempotencyOf(headers, () => requestHash(request, finished.sha256)),
      authorise: (tx: Transaction) => authorise(tx, projects, targets),
    } as const
    return await acceptJob(container, newJob, { isPreferred: true })
  } finally {
    // What became a job's input is no longer this one's to give up.
    await artifact.discard()
  }
}
