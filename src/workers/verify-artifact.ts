import type { Container } from '../container.ts'
import { AppError, type Fault } from '../errors.ts'
import { isFaultOfArchive, restoreArchive, type VerifyingJob, type WrittenArtifact } from './restore-archive.ts'

/**
 * Proves that an archive can be restored: reads it back from where it is kept, restores it into projects made for that,
 * exports them, and compares structure, rows and their sums, roles and events; of rights and policies, those for roles that this
 * server has. What the archive lacks is not looked for: that is for the caller to judge. Nothing is left of them, however it ends; where the
 * process dies, the job's next attempt or a sweep drops them.
 *
 * @throws {AppError} PROOF_FAILED where the archive is not what was written, can't be restored, or comes back as
 *   something else. What is not the archive's fault is thrown as it is.
 */
export async function verifyArtifact(
  container: Container,
  artifact: WrittenArtifact,
  job: VerifyingJob,
): Promise<void> {
  try {
    const faults = await restoreArchive(container, artifact, job)
    if (faults.length > 0) throw unproven('what was restored from it is not the same', faults)
  } catch (error) {
    job.signal.throwIfAborted()
    if (!isFaultOfArchive(error)) throw error
    throw unproven(error.message, error.faults, error)
  }
}

const unproven = (reason: string, faults: readonly Fault[], cause?: Error): AppError =>
  new AppError('PROOF_FAILED', `the archive was written, but is not proven, and so was not kept: ${reason}`, {
    faults,
    cause,
  })
