import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import type { TestWharf } from './wharf.ts'

/** Passes once all jobs have ended, and nothing of them is left but what they made. */
export const nothingIsLeft = (wharf: Pick<TestWharf, 'database' | 'dataDir'>): Promise<void> =>
  eventually(() => leftoversOf(wharf)).toEqual([])

/**
 * What jobs have left in the database and on disk. The queue is not asked: it may hold on to an id for a while, which
 * means nothing to anybody.
 */
async function leftoversOf({ database, dataDir }: Pick<TestWharf, 'database' | 'dataDir'>): Promise<readonly string[]> {
  const rows = await database.query<{ left: string }>(
    `SELECT 'job ' || id || ' ' || status AS left FROM control.job WHERE status IN ('queued', 'running')
     UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname LIKE '%.new-%'
     UNION ALL SELECT 'record of schema ' || schema_name FROM system.side_schema WHERE kind = 'loading'
     UNION ALL SELECT 'events of stage ' || stage_id FROM system.loading_event
     UNION ALL SELECT 'record of file ' || id || ' ' || state FROM control.artifact WHERE state NOT IN ('ready', 'removed')
     UNION ALL SELECT 'session ' || application_name FROM pg_stat_activity
       WHERE application_name LIKE 'wharf job %' AND datname = current_database()`,
  )
  const kept = await database.query<{ key: string }>(`SELECT key FROM control.artifact WHERE state = 'ready'`)
  const entries = await readdir(dataDir, { withFileTypes: true, recursive: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const owned = new Set(kept.map(({ key }) => join(dataDir, 'artifacts', key)))
  const files = paths.filter((path) => /\/(artifacts|spool)\//.test(path) && !owned.has(path))
  const lost = [...owned].filter((path) => !paths.includes(path))
  return [...rows.map(({ left }) => left), ...files, ...lost.map((path) => `${path} is missing`)]
}
