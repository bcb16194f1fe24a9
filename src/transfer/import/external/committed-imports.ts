import { z } from 'zod'
import { importedSchema } from '../../../contract/import.ts'
import type { Database } from '../../../database/database.ts'
import { quoteIdentifier } from '../../../database/quoting.ts'
import { conflict } from '../../../errors.ts'
import type { ReadonlyDeep } from '../../../lib/readonly-deep.ts'
import { RECORDS_SCHEMA } from '../../../projects/attached/remove-traces.ts'
import type { Query } from '../../structure/query.ts'

/** One go at an import; a job that is tried again has the same id. */
export interface Operation {
  readonly id: string
  readonly attempt: number
}

/** What an import has written down of itself in the database that it replaced stages of. */
export const committedImport = z.object({
  stages: z.array(
    z.object({
      stageId: z.string(),
      /** The schema that was loaded; null where the stage was loaded in place. */
      loaded: z.string().nullable(),
      /** The schema that has what was replaced; null where nothing is kept. */
      kept: z.string().nullable(),
      exchanged: z.enum(['schemas', 'objects']),
      /** Of the types that the stage shares with what was replaced: `readSharedTypesState`. Earlier versions shared none. */
      typesState: z.string().default(''),
    }),
  ),
  /** What the result says of each stage. */
  imported: importedSchema.shape.projects,
  /** The rest of its result. */
  rest: z.record(z.string(), z.unknown()),
})

export type CommittedImport = ReadonlyDeep<z.output<typeof committedImport>>

const TABLE = `${quoteIdentifier(RECORDS_SCHEMA)}.committed`

/** How long they are kept: no job is tried again after that. */
const KEPT = '30 days'

/**
 * Whether a transaction that makes an import visible can write that down where it does, so that it is found again where its
 * process dies.
 *
 * @throws {AppError} CONFLICT where somebody else has made the schema for it.
 */
export async function canRecord({ prisma }: Database): Promise<boolean> {
  const [found] = await prisma.$queryRawUnsafe<{ own: boolean; there: boolean; may: boolean }[]>(STATE_SQL)
  if (found?.there && !found.own) {
    throw conflict(
      `the schema "${RECORDS_SCHEMA}" of the database, in which Wharf writes down what it has imported, belongs to another ` +
        'login, whose triggers would run there: drop it, or give it to the login of this project',
    )
  }
  return found?.there || found?.may || false
}

const STATE_SQL = `
SELECT n.oid IS NOT NULL AS there,
       COALESCE(pg_catalog.pg_get_userbyid(n.nspowner) = CURRENT_USER
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid
                                   AND pg_catalog.pg_get_userbyid(c.relowner) <> CURRENT_USER), false) AS own,
       pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') AS may
  FROM (SELECT) one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = '${RECORDS_SCHEMA}'`

/** Writes down, in the transaction that makes it visible, that an import is committed; makes the table where it is missing. */
export async function recordCommitted(
  query: Query,
  { id, attempt }: Operation,
  committed: CommittedImport,
): Promise<void> {
  // Two imports that begin at once would both make it.
  await query(`SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('${RECORDS_SCHEMA}'))`, [])
  const [found] = await query<{ there: boolean }>(STATE_SQL, [])
  if (!found?.there) {
    await query(`CREATE SCHEMA ${quoteIdentifier(RECORDS_SCHEMA)}`, [])
    await query(
      `CREATE TABLE ${TABLE} (id uuid PRIMARY KEY, attempt integer NOT NULL, ` +
        'committed_at timestamptz NOT NULL DEFAULT pg_catalog.now(), import jsonb NOT NULL)',
      [],
    )
  }
  await query(`DELETE FROM ${TABLE} WHERE committed_at < pg_catalog.now() - '${KEPT}'::interval`, [])
  await query(`INSERT INTO ${TABLE} (id, attempt, import) VALUES ($1::uuid, $2::integer, $3::jsonb)`, [
    id,
    attempt,
    JSON.stringify(committed),
  ])
}

/** What an operation has committed, in whichever attempt; undefined where it has committed nothing. */
export async function findCommitted({ prisma }: Database, id: string): Promise<CommittedImport | undefined> {
  const [found] = await prisma.$queryRawUnsafe<{ own: boolean; there: boolean }[]>(STATE_SQL)
  if (!found?.there || !found.own) return undefined
  const rows = await prisma.$queryRawUnsafe<{ import: unknown }[]>(
    `SELECT import FROM ${TABLE} WHERE id = $1::uuid`,
    id,
  )
  return rows[0] && committedImport.parse(rows[0].import)
}
