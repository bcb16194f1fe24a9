import { query } from '../../test/support/servers/sessions.ts'
import { type Folders, LEFT_IN_DATABASE, leftInFolders } from '../../test/support/service/left-by-jobs.ts'

/** Makes uploads whose job was never made look as if they had begun before the day that each of them is given. */
export async function ageUploads(superuserUrl: string): Promise<void> {
  await query(
    superuserUrl,
    `UPDATE control.artifact SET created_at = created_at - interval '2 days' WHERE job_id IS NULL`,
  )
}

/** What is left of work that died, once nothing goes on any more. */
export async function findLeftovers(superuserUrl: string, folders: Folders): Promise<readonly string[]> {
  const rows = await query<{ left: string }>(superuserUrl, LEFTOVERS)
  return [...rows.map(({ left }) => left), ...(await leftInFolders(folders, (sql) => query(superuserUrl, sql)))]
}

const LEFTOVERS = `
  ${LEFT_IN_DATABASE}
  UNION ALL SELECT 'schema ' || nspname || ' of no stage' FROM pg_namespace
    WHERE nspowner IN (SELECT oid FROM pg_roles WHERE rolname LIKE 'wharf\\_%') AND nspname NOT IN (
      SELECT schema_name FROM system.stage_state UNION ALL SELECT schema_name FROM system.side_schema)
  UNION ALL SELECT 'login ' || rolname || ' of no project' FROM pg_roles
    WHERE rolname LIKE 'wharf\\_%' AND rolname NOT IN (SELECT login FROM control.project)
  UNION ALL SELECT 'open transaction ' || xid FROM system.open_transaction
  UNION ALL SELECT 'log of a stage that is gone, ' || stage_id FROM (SELECT DISTINCT stage_id FROM system.event) logged
    WHERE stage_id NOT IN (SELECT stage_id FROM system.stage_state)
  UNION ALL SELECT 'file ' || id || ' ' || state FROM control.artifact WHERE state IN ('writing', 'deleted')
  UNION ALL SELECT 'transaction of ' || usename || ' ' || state || ' ' || left(query, 100) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start < now() - interval '20 seconds'`
