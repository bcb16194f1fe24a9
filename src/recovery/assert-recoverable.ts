import type pg from 'pg'
import { tableExists } from '../database/clients.ts'
import { conflict } from '../errors.ts'

/** Tables of an installation that somebody has used, and what a row of each is called. */
const USED = [
  ['project', 'project'],
  ['attached_server', 'attached server'],
  ['token', 'token'],
  ['schedule', 'schedule'],
  ['webhook', 'webhook'],
  ['job', 'job'],
] as const

/** What is there that Wharf does not make itself at its first start. */
const FOREIGN = `
  SELECT DISTINCT nspname::text AS schema FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
   WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND nspname !~ '^pg_' AND relname <> '_prisma_migrations'
     AND nspname NOT IN ('information_schema', 'control', 'system', 'wharf', 'wharf_start', 'bullmq', 'extensions')
   ORDER BY 1 LIMIT 5`

/**
 * Makes sure that a database has nothing that a recovery could mix with what it brings.
 *
 * @param backup the name of the backup that is to be recovered.
 * @returns `goes on` where a recovery from this backup was begun there and did not end.
 * @throws {AppError} CONFLICT, naming what is there.
 */
export async function assertRecoverable(client: pg.Client, backup: string): Promise<'is empty' | 'goes on'> {
  if (await tableExists(client, 'control.installation')) {
    const { rows } = await client.query<{ from: string | null }>(
      'SELECT recovered_from AS "from" FROM control.installation',
    )
    const from = rows[0]?.from
    if (from === backup) return 'goes on'
    if (from) {
      throw conflict(`a recovery from ${from} has not ended in this database: go on with --backup ${from}`)
    }
  }
  const found = (await tableExists(client, 'control.project')) ? await findUsed(client) : []
  const there = found.length > 0 ? found : await findForeign(client)
  if (there.length === 0) return 'is empty'
  throw conflict(
    `recovery needs an empty database, and this one has ${there.join(', ')}: set DATABASE_URL, or WHARF_DATA_DIR, to an empty one`,
  )
}

async function findForeign(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ schema: string }>(FOREIGN)
  return rows.map(({ schema }) => `tables in the schema "${schema}"`)
}

async function findUsed(client: pg.Client): Promise<readonly string[]> {
  const found: string[] = []
  for (const [table, noun] of USED) {
    if (!(await tableExists(client, `control.${table}`))) continue
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM control.${table}`)
    const count = rows[0]?.count ?? 0
    if (count > 0) found.push(`${count} ${noun}${count === 1 ? '' : 's'}`)
  }
  return found
}
