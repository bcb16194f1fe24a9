import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { query } from '../../test/support/servers/sessions.ts'

/** Makes uploads whose job was never made look as if they had begun before the day that each of them is given. */
export async function ageUploads(superuserUrl: string): Promise<void> {
  await query(
    superuserUrl,
    `UPDATE control.artifact SET created_at = created_at - interval '2 days' WHERE job_id IS NULL`,
  )
}

/** What is left of work that died, once nothing goes on any more. @param folders where processes keep files, by purpose. */
export async function findLeftovers(
  superuserUrl: string,
  folders: { readonly artifacts: string; readonly data: readonly string[] },
): Promise<readonly string[]> {
  const rows = await query<{ left: string }>(superuserUrl, LEFTOVERS)
  const owned = await query<{ key: string }>(superuserUrl, `SELECT key FROM control.artifact WHERE state = 'ready'`)
  const keys = new Set(owned.map(({ key }) => key))
  const stored = await filesIn(folders.artifacts)
  const spooled = (await Promise.all(folders.data.map((folder) => filesIn(join(folder, 'spool'))))).flat()
  return [
    ...rows.map(({ left }) => left),
    ...stored.filter((name) => !keys.has(name)).map((name) => `file ${name} of nobody's`),
    ...[...keys].filter((key) => !stored.includes(key)).map((key) => `the archive ${key} is missing`),
    ...spooled.map((name) => `spooled ${name}`),
  ]
}

const LEFTOVERS = `
  SELECT 'job ' || id || ' ' || status AS left FROM control.job WHERE status IN ('queued', 'running')
  UNION ALL SELECT 'schema ' || schema_name || ' ' || kind FROM system.side_schema WHERE kind <> 'kept'
  UNION ALL SELECT 'schema ' || nspname || ' of no stage' FROM pg_namespace
    WHERE nspowner IN (SELECT oid FROM pg_roles WHERE rolname LIKE 'wharf\\_%') AND nspname NOT IN (
      SELECT schema_name FROM system.stage_state UNION ALL SELECT schema_name FROM system.side_schema)
  UNION ALL SELECT 'login ' || rolname || ' of no project' FROM pg_roles
    WHERE rolname LIKE 'wharf\\_%' AND rolname NOT IN (SELECT login FROM control.project)
  UNION ALL SELECT 'events that were loading, of stage ' || stage_id FROM system.loading_event
  UNION ALL SELECT 'open transaction ' || xid FROM system.open_transaction
  UNION ALL SELECT 'log of a stage that is gone, ' || stage_id FROM (SELECT DISTINCT stage_id FROM system.event) logged
    WHERE stage_id NOT IN (SELECT stage_id FROM system.stage_state)
  UNION ALL SELECT 'file ' || id || ' ' || state FROM control.artifact WHERE state IN ('writing', 'deleted')
  UNION ALL SELECT 'transaction of ' || usename || ' ' || state || ' ' || left(query, 100) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start < now() - interval '20 seconds'
  UNION ALL SELECT 'session ' || application_name FROM pg_stat_activity
    WHERE application_name LIKE 'wharf job %' OR application_name LIKE 'wharf export %'`

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
