import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import type { Database } from '../database/database.ts'

/** How many files are removed at a time. */
const MAX_REMOVALS = 1_000

/**
 * Removes files that have expired, that nobody has a use for any more, or that were never finished. The record says
 * first that a file is not to be had, and only then it goes.
 */
export async function removeArtifacts({
  control: { prisma },
  artifacts,
}: {
  readonly control: Database
  readonly artifacts: ArtifactStore
}): Promise<void> {
  await prisma.$executeRaw`DELETE FROM control.upload WHERE expires_at <= now()`
  await prisma.$executeRaw`
    UPDATE control.artifact SET state = 'deleted'
     WHERE (state = 'ready' AND expires_at <= now())
        OR (state = 'ready' AND job_id IS NULL AND upload_id IS NULL)
        OR (state = 'writing' AND job_id IS NULL AND created_at < now() - interval '1 day')
        OR (state IN ('writing', 'ready') AND kind = 'input'
            AND EXISTS (SELECT FROM control.job WHERE id = job_id AND status IN ('succeeded', 'failed', 'cancelled')))
        OR (state = 'writing' AND kind = 'output'
            AND EXISTS (SELECT FROM control.job WHERE id = job_id AND status <> 'running'))`
  const unwanted = await prisma.artifact.findMany({ where: { state: 'deleted' }, take: MAX_REMOVALS })
  for (const { id, key } of unwanted) {
    await artifacts.remove(key)
    // Another process may sweep at the same time, and have forgotten it by now.
    await prisma.artifact.updateMany({ where: { id }, data: { state: 'removed' } })
  }
  await prisma.artifact.deleteMany({ where: { state: 'removed', jobId: null } })
}
