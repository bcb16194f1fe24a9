import type { Queryable } from '../database/database.ts'
import { PATIENCE_SECONDS } from './signs-of-life.ts'

/** For how long a process that nobody asks keeps the lease, in seconds: more than Prometheus lets pass between two questions. */
const LEASE_SECONDS = 180

/**
 * Takes or renews the lease by which one process at a time gives the figures that are about the service. Another one takes it
 * over when that process has ended, or is not asked any more.
 *
 * @returns whether this process has it.
 */
export async function takeMetricsLease(control: Queryable, processId: string): Promise<boolean> {
  const taken = await control.$queryRaw<unknown[]>`
    INSERT INTO control.metrics_lease AS lease (process_id) VALUES (${processId}::uuid)
    ON CONFLICT (id) DO UPDATE SET process_id = excluded.process_id, renewed_at = excluded.renewed_at
     WHERE lease.process_id = excluded.process_id
        OR lease.renewed_at < now() - make_interval(secs => ${LEASE_SECONDS})
        OR NOT EXISTS (SELECT FROM control.process
                        WHERE id = lease.process_id AND seen_at > now() - make_interval(secs => ${PATIENCE_SECONDS}))
    RETURNING 1`
  return taken.length > 0
}
