import { join } from 'node:path'
import { sweepShadowSchemas } from '../../../src/transfer/import/shadow-schemas.ts'
import { eventually } from '../eventually.ts'
import { LEFT_IN_DATABASE, leftInFolders } from './left-by-jobs.ts'
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
    `${LEFT_IN_DATABASE}
     UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname LIKE '%.new-%'
     UNION ALL SELECT 'record of file ' || artifact.id || ' ' || artifact.kind || ' ' || state
       FROM control.artifact LEFT JOIN control.job ON job.id = job_id
       WHERE state <> 'removed' AND (artifact.kind = 'output' AND state = 'ready' AND status = 'succeeded') IS NOT TRUE
     UNION ALL SELECT 'advisory lock ' || objid FROM pg_locks JOIN pg_database ON pg_database.oid = database
       WHERE locktype = 'advisory' AND datname = current_database()
     UNION ALL SELECT 'transaction of ' || usename || ' ' || state FROM pg_stat_activity
       WHERE datname = current_database() AND xact_start IS NOT NULL AND backend_type = 'client backend'
         AND pid <> pg_backend_pid()`,
  )
  const folders = { artifacts: join(dataDir, 'artifacts'), data: [dataDir] }
  return [...rows.map(({ left }) => left), ...(await leftInFolders(folders, (sql) => database.query(sql)))]
}

/** What imports have left beside stages when a sweep has been, in a service with `WHARF_UNDO_HOURS` 0. */
export async function leftAfterSweep({ container, database }: TestWharf) {
  await sweepShadowSchemas(container, container.logger)
  return {
    records: await database.query('SELECT * FROM system.side_schema'),
    schemas: await database.query(`SELECT nspname FROM pg_namespace WHERE nspname ~ '\\.(new|old)-'`),
    events: await database.query('SELECT stage_id FROM system.loading_event'),
  }
}
