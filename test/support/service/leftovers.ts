import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepSideSchemas } from '../../../src/transfer/import/side-schemas.ts'
import { eventually } from '../eventually.ts'
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
     UNION ALL SELECT 'record of schema ' || schema_name FROM system.side_schema WHERE kind <> 'kept'
     UNION ALL SELECT 'events of stage ' || stage_id FROM system.loading_event
     UNION ALL SELECT 'record of file ' || artifact.id || ' ' || artifact.kind || ' ' || state
       FROM control.artifact LEFT JOIN control.job ON job.id = job_id
       WHERE state <> 'removed' AND (artifact.kind = 'output' AND state = 'ready' AND status = 'succeeded') IS NOT TRUE
     UNION ALL SELECT 'advisory lock ' || objid FROM pg_locks JOIN pg_database ON pg_database.oid = database
       WHERE locktype = 'advisory' AND datname = current_database()
     UNION ALL SELECT 'transaction of ' || usename || ' ' || state FROM pg_stat_activity
       WHERE datname = current_database() AND xact_start IS NOT NULL AND backend_type = 'client backend'
         AND pid <> pg_backend_pid()
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

/** What imports have left beside stages when a sweep has been, in a service with `WHARF_UNDO_HOURS` 0. */
export async function leftAfterSweep({ container, database }: TestWharf) {
  await sweepSideSchemas(container, container.logger)
  return {
    records: await database.query('SELECT * FROM system.side_schema'),
    schemas: await database.query(`SELECT nspname FROM pg_namespace WHERE nspname ~ '\\.(new|old)-'`),
    events: await database.query('SELECT stage_id FROM system.loading_event'),
  }
}
