import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** What work that has ended, or died, leaves in no database, in words; for a query that has a column `left`. */
export const LEFT_IN_DATABASE = `
  SELECT 'job ' || id || ' ' || status AS left FROM control.job WHERE status IN ('queued', 'running')
  UNION ALL SELECT 'record of schema ' || schema_name || ' ' || kind FROM system.side_schema WHERE kind <> 'kept'
  UNION ALL SELECT 'events that were loading, of stage ' || stage_id FROM system.loading_event
  UNION ALL SELECT 'session ' || application_name FROM pg_stat_activity WHERE datname = current_database()
    AND (application_name LIKE 'wharf job %' OR application_name LIKE 'wharf export %')`

/** Where a service keeps files: archives, and in a folder `spool` of each process what that receives. */
export interface Folders {
  readonly artifacts: string
  readonly data: readonly string[]
}

/** The same in folders. @param query asks the service's database. */
export async function leftInFolders(
  { artifacts, data }: Folders,
  query: (sql: string) => Promise<readonly { readonly key: string }[]>,
): Promise<readonly string[]> {
  const owned = await query(`SELECT key FROM control.artifact WHERE state = 'ready'`)
  const keys = new Set(owned.map(({ key }) => key))
  const stored = await filesIn(artifacts)
  const received = (await Promise.all(data.map(filesIn))).flat().filter((name) => /(^|\/)spool\//.test(name))
  return [
    ...stored.filter((name) => !keys.has(name)).map((name) => `file ${name} of nobody's`),
    ...[...keys].filter((key) => !stored.includes(key)).map((key) => `the archive ${key} is missing`),
    ...received,
  ]
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
