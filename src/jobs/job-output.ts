import type { Queryable } from '../database/database.ts'
import { AppError, conflict, gone } from '../errors.ts'
import type { Job } from './job.ts'

/** The archive that a job made. */
export interface JobOutput {
  /** Where it is in the artifact store. */
  readonly key: string
  readonly bytes: number
  readonly sha256: Uint8Array
  readonly createdAt: Date
}

/** After how many seconds it is worth asking again for an archive that is being made. */
const RETRY_SECONDS = 5

/**
 * Finds what a job made, without asking who may have it.
 *
 * @throws {AppError} NOT_FOUND for a job that makes no archive, CONFLICT where it has not ended, or not well, GONE
 *   where the archive was kept as long as it should be, was deleted, or is damaged.
 */
export async function findOutput(control: Queryable, { id, kind, status }: Job): Promise<JobOutput> {
  if (kind !== 'export') throw new AppError('NOT_FOUND', `a job of the kind ${kind} makes no archive`)
  if (status === 'queued' || status === 'running') {
    const message = `the archive is not ready yet: the job is ${status}`
    throw new AppError('CONFLICT', message, { retryAfterSeconds: RETRY_SECONDS })
  }
  if (status === 'failed') throw conflict('there is no archive: the job failed')
  if (status === 'cancelled') throw conflict('there is no archive: the job was cancelled')
  // By the database's clock, as everything that expires.
  const [output] = await control.$queryRaw<
    { key: string; bytes: bigint; sha256: Uint8Array; createdAt: Date; damaged: boolean }[]
  >`
    SELECT key, bytes, sha256, created_at AS "createdAt", damaged_at IS NOT NULL AS damaged FROM control.artifact
     WHERE job_id = ${id}::uuid AND kind = 'output' AND state = 'ready' AND (expires_at IS NULL OR expires_at > now())`
  if (!output) throw gone('the archive is not kept any more; export again')
  const { key, bytes, sha256, createdAt, damaged } = output
  if (damaged) throw archiveDamaged()
  return { key, bytes: Number(bytes), sha256, createdAt }
}

/** The bytes in the store are not those that were written. */
export const archiveDamaged = (): AppError =>
  gone('the archive is damaged: its bytes in the storage are not those that were written; export again')
