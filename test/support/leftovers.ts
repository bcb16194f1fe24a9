import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepSideSchemas } from '../../src/transfer/import/sweep-side-schemas.ts'
import { eventually } from './eventually.ts'
import { openTransactions } from './transactions.ts'
import type { TestWharf } from './wharf.ts'

/** Passes once nothing is left of jobs but the archives of those that succeeded. */
export const nothingIsLeft = (wharf: TestWharf): Promise<void> =>
  eventually(() => leftovers(wharf)).toEqual({ files: [], artifacts: [], locks: [], transactions: [] })

async function leftovers(wharf: TestWharf) {
  const { database, dataDir } = wharf
  const isWanted = `artifact.kind = 'output' AND state = 'ready' AND status = 'succeeded'`
  const wanted = await database.query<{ key: string }>(
    `SELECT key FROM control.artifact JOIN control.job ON job.id = job_id WHERE ${isWanted}`,
  )
  const names = new Set(['secret-key', ...wanted.map(({ key }) => key)])
  const entries = await readdir(dataDir, { withFileTypes: true, recursive: true })
  return {
    files: entries
      .filter((entry) => entry.isFile() && !names.has(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name)),
    artifacts: await database.query(`
      SELECT artifact.kind, state, status FROM control.artifact LEFT JOIN control.job ON job.id = job_id
       WHERE state <> 'removed' AND (${isWanted}) IS NOT TRUE`),
    locks: await database.query(`
      SELECT objid, mode FROM pg_locks JOIN pg_database ON pg_database.oid = database
       WHERE locktype = 'advisory' AND datname = current_database()`),
    transactions: await openTransactions(wharf),
  }
}

/** What imports have left beside stages when a sweep has been, in a service with `WHARF_UNDO_HOURS` 0. */
export async function sweptSideThings({ container, database }: TestWharf) {
  await sweepSideSchemas(container, container.logger)
  return {
    records: await database.query('SELECT * FROM system.side_schema'),
    schemas: await database.query(`SELECT nspname FROM pg_namespace WHERE nspname ~ '\\.(new|old)-'`),
    events: await database.query('SELECT stage_id FROM system.loading_event'),
  }
}
