import { createHash, randomUUID } from 'node:crypto'
import type { FinishedArtifact } from '../artifacts/artifact-store.ts'
import type { Database, Transaction } from '../database/database.ts'
import { isUniqueViolation } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'
import type { Seal } from '../lib/seal.ts'
import type { Logger } from '../logger.ts'
import { findProject } from '../projects/projects.ts'
import { jobSubject } from '../projects/sealed-subjects.ts'
import { projectsOf } from './authorisation.ts'
import { type AnyJobRequest, CATALOGUE } from './catalogue.ts'
import type { Job, JobKind } from './job.ts'
import { publishArtifact } from './job-artifacts.ts'
import { JOB_COLUMNS } from './job-record.ts'
import type { JobQueue } from './queue.ts'
import { type Secrets, sealSecrets } from './sealed-secrets.ts'
import { takeUpload } from './uploads/upload.ts'

/** How long a key stands for the job that was made with it. */
const KEY_HOURS = 24

/** What making a job takes. */
export interface SubmitServices {
  readonly control: Database
  readonly queue: JobQueue
  readonly seal: Seal
  readonly logger: Logger
}

/** A job that is asked for. */
export interface NewJob {
  readonly request: AnyJobRequest
  /** The token that asks for it; null for the root token. */
  readonly createdBy: string | null
  readonly scheduleId?: string
  readonly secrets?: Secrets
  /** The archive to be imported; it becomes the job's with its record. */
  readonly input?: NewInput
  readonly idempotency?: Idempotency | undefined
  /**
   * Looks again, in the transaction that records the job, whether it may be asked for; keeps it so until that ends.
   *
   * @throws {AppError} where it may not be. Nothing is recorded then.
   */
  readonly authorise?: (tx: Transaction) => Promise<unknown>
}

/** A file that has been committed to the store, or an upload that is whole. */
export type NewInput = { readonly id: string; readonly finished: FinishedArtifact } | { readonly uploadId: string }

/** A client's own name for its request, so that it can be sent again without being done again. */
export interface Idempotency {
  readonly key: string
  /** SHA-256 of all that the request says. */
  readonly hash: Buffer
}

/** What requests with one key must agree in. @param parts for a body that is too large, its digest. */
export const requestHash = (...parts: readonly unknown[]): Buffer =>
  createHash('sha256').update(JSON.stringify(parts)).digest()

/**
 * Writes a job's record, then notifies the workers. Where that fails, the sweep does it later: what was recorded is done.
 *
 * @returns the new job; that of the same key where there is one, as it is by now.
 * @throws {AppError} QUEUE_UNAVAILABLE before anything is recorded; NOT_FOUND for an unknown project;
 *   IDEMPOTENCY_KEY_REUSED where the key stands for another request; what `authorise` throws.
 */
export async function submitJob(services: SubmitServices, newJob: NewJob): Promise<Job> {
  const { control, queue, logger } = services
  const known = await findByKey(control, { ...newJob, kind: newJob.request.kind })
  if (known) {
    await control.prisma.$transaction(async (tx) => newJob.authorise?.(tx))
    return known
  }
  await queue.assertAvailable()
  const projects = await Promise.all(projectsOf(newJob.request).map((slug) => findProject(control.prisma, slug)))
  const projectIds = projects.map(({ id }) => id)
  try {
    const job = await control.prisma.$transaction(async (tx) => {
      await newJob.authorise?.(tx)
      return recordJob(tx, services.seal, newJob, projectIds)
    })
    await notifyWorkers(queue, job, logger)
    return job
  } catch (error) {
    // Of several requests with one key that come at once, the index lets one in.
    const first = isUniqueViolation(error)
      ? await findByKey(control, { ...newJob, kind: newJob.request.kind })
      : undefined
    if (!first) throw error
    return first
  }
}

/** Notifies the workers of a job that has been recorded. Throws nothing: where the queue is away, the sweep does it later. */
export async function notifyWorkers(queue: JobQueue, { kind, id }: Job, logger: Logger): Promise<void> {
  try {
    await queue.notify(kind, [id])
  } catch (error) {
    logger.warn({ err: error, jobId: id }, 'the queue did not take a job; the sweep will put it there again')
  }
}

/**
 * Writes a job's record. The archive that it is to import becomes the job's.
 *
 * @param tx the caller commits it, and notifies the queue of the job afterwards.
 * @param projectIds the projects that the job is about, which decide who may see it.
 * @throws where the archive has been given up meanwhile, and a unique violation where the key is taken.
 */
export async function recordJob(
  tx: Transaction,
  seal: Seal,
  newJob: NewJob,
  projectIds: readonly string[],
): Promise<Job> {
  const { request, createdBy, secrets, input, idempotency } = newJob
  const id = randomUUID()
  const sealed = sealSecrets(seal, secrets ?? {}, jobSubject(id))
  const key = idempotency ? fullKey(request.kind, createdBy, idempotency) : null
  const [job] = await tx.$queryRaw<Job[]>`
    INSERT INTO control.job (id, kind, request, sealed_secrets, project_ids, created_by, schedule_id, max_attempts,
                             idempotency_key, idempotency_hash)
    VALUES (${id}::uuid, ${request.kind}, ${JSON.stringify(request.request)}::jsonb, ${sealed}, ${projectIds}::uuid[],
            ${createdBy}::uuid, ${newJob.scheduleId ?? null}::uuid, ${CATALOGUE[request.kind].maxAttempts}, ${key},
            ${idempotency?.hash ?? null})
    RETURNING ${JOB_COLUMNS}`
  if (!job) throw new Error('the job was not recorded')
  if (input && 'uploadId' in input) await takeUpload(tx, input.uploadId, id)
  else if (input) await publishArtifact(tx, { ...input, jobId: id }, null)
  return job
}

/**
 * The job that was made with this key.
 *
 * @throws {AppError} IDEMPOTENCY_KEY_REUSED where the key stands for another request.
 */
export async function findByKey(
  { prisma }: Database,
  { kind, createdBy, idempotency }: Pick<NewJob, 'createdBy' | 'idempotency'> & { readonly kind: JobKind },
): Promise<Job | undefined> {
  if (!idempotency) return undefined
  const key = fullKey(kind, createdBy, idempotency)
  await prisma.$executeRaw`
    UPDATE control.job SET idempotency_key = NULL, idempotency_hash = NULL
     WHERE idempotency_key = ${key} AND created_at < now() - make_interval(hours => ${KEY_HOURS}::int)`
  const [found] = await prisma.$queryRaw<(Job & { readonly same: boolean })[]>`
    SELECT ${JOB_COLUMNS}, idempotency_hash = ${idempotency.hash} AS same
      FROM control.job WHERE idempotency_key = ${key}`
  if (!found) return undefined
  const { same, ...job } = found
  if (same) return job
  throw new AppError(
    'IDEMPOTENCY_KEY_REUSED',
    `the Idempotency-Key was used for another request in the last ${KEY_HOURS} hours; use a new key for a new request`,
  )
}

const fullKey = (kind: JobKind, createdBy: string | null, { key }: Idempotency): string =>
  `${createdBy ?? 'root'} ${kind} ${key}`
