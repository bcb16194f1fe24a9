import type pg from 'pg'
import { tableExists } from '../database/clients.ts'
import { conflict } from '../errors.ts'
import type { BackedUpServer } from './backed-up-server.ts'

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
 * Databases of the server that belong to projects ($2), or in which their logins ($1) have something: those of an
 * installation that is there still.
 */
const ELSEWHERE = `
  SELECT datname::text AS name FROM pg_database
   WHERE datname <> current_database()
     AND (datname = ANY ($2::text[])
          OR oid IN (SELECT CASE WHEN classid = 'pg_database'::regclass THEN objid ELSE dbid END
                       FROM pg_shdepend JOIN pg_roles ON pg_roles.oid = refobjid
                      WHERE refclassid = 'pg_authid'::regclass AND rolname = ANY ($1::text[])))
   ORDER BY datname`

/** As long as a process that was killed counts as running. */
const RUNNING = `SELECT host || ' ' || pid AS process FROM control.process WHERE seen_at > now() - interval '1 minute' ORDER BY 1`

/**
 * Makes sure that neither a database, nor the server that it is on, has anything that a recovery could mix with what it
 * brings, or replace.
 *
 * @param backup the one that is to be recovered.
 * @returns `goes on` where a recovery from this backup was begun there and did not end.
 * @throws {AppError} CONFLICT, naming what is there.
 */
export async function assertRecoverable(
  client: pg.ClientBase,
  {
    key: backup,
    installation,
    server,
  }: { readonly key: string; readonly installation: string; readonly server: BackedUpServer },
): Promise<'is empty' | 'goes on'> {
  await assertNotRunning(client)
  if (await tableExists(client, 'control.installation')) {
    const { rows } = await client.query<{ id: string; from: string | null }>(
      'SELECT id::text, recovered_from AS "from" FROM control.installation',
    )
    const { id, from } = rows[0] ?? {}
    if (from === backup && id === installation) return 'goes on'
    if (from && from !== backup) {
      throw conflict(`a recovery from ${from} has not ended in this database: go on with --backup ${from}`)
    }
  }
  const found = (await tableExists(client, 'control.project')) ? await findUsed(client) : []
  const there = found.length > 0 ? found : await findForeign(client)
  if (there.length > 0) {
    throw conflict(
      `recovery needs an empty database, and this one has ${there.join(', ')}: set DATABASE_URL, or WHARF_DATA_DIR, to an empty one`,
    )
  }
  await assertNotElsewhere(client, server)
  return 'is empty'
}

async function assertNotRunning(client: pg.ClientBase): Promise<void> {
  if (!(await tableExists(client, 'control.process'))) return
  const { rows } = await client.query<{ process: string }>(RUNNING)
  if (rows.length === 0) return
  const processes = rows.map(({ process }) => process).join(', ')
  throw conflict(
    `the service runs on this database (${processes}): stop it first; a process that was killed counts for another minute`,
  )
}

/** Logins and databases have the names that they had: where an installation has them still, they would be taken from it. */
async function assertNotElsewhere(client: pg.ClientBase, { logins, databases }: BackedUpServer): Promise<void> {
  const { rows } = await client.query<{ name: string }>(ELSEWHERE, [logins, databases])
  if (rows.length === 0) return
  const names = rows.map(({ name }) => `"${name}"`).join(', ')
  throw conflict(
    `projects of this backup are on this server already, in the databases ${names}, which a recovery would take from them: ` +
      'recover on another server; or, if that installation is lost, dump what you need of these databases, and drop them',
  )
}

async function findForeign(client: pg.ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<{ schema: string }>(FOREIGN)
  return rows.map(({ schema }) => `tables in the schema "${schema}"`)
}

async function findUsed(client: pg.ClientBase): Promise<readonly string[]> {
  const found: string[] = []
  for (const [table, noun] of USED) {
    if (!(await tableExists(client, `control.${table}`))) continue
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM control.${table}`)
    const count = rows[0]?.count ?? 0
    if (count > 0) found.push(`${count} ${noun}${count === 1 ? '' : 's'}`)
  }
  return found
}
