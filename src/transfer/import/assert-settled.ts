import { AppError } from '../../errors.ts'
import type { Query } from '../structure/query.ts'
import { assertSameRights } from './stage-rights.ts'

/** A schema that is being replaced, by the name that it has at the moment. */
export interface Replaced {
  readonly schemaName: string
  /** What the rights in it were when they were read for what replaces it. */
  readonly rightsState: string
}

/**
 * Makes sure that nobody has granted or taken rights in a schema since, nor is about to: `GRANT` waits for no lock that an
 * import holds, and what it gives on objects that are replaced is lost with them.
 *
 * A transaction that has not ended is found by what it writes over: the rows of the catalogs that we still see have its
 * id. What it adds is not seen, and that is what `ALTER DEFAULT PRIVILEGES` does where nothing was said before.
 *
 * @throws {AppError} CONFLICT
 */
export async function assertSettled(query: Query, { schemaName, rightsState }: Replaced): Promise<void> {
  // First: a transaction may end between the two, and what it did is seen then.
  await assertNotChanging(query, schemaName)
  await assertSameRights(query, schemaName, rightsState)
}

/** @throws {AppError} CONFLICT where somebody changes what is in a schema, in a transaction that has not ended. */
export async function assertNotChanging(query: Query, schemaName: string): Promise<void> {
  const [found] = await query<{ changing: boolean }>(IS_CHANGING_SQL, [schemaName])
  if (!found?.changing) return
  throw new AppError(
    'CONFLICT',
    'rights on the stage, or things in it, are being changed in a transaction that has not ended; nothing was changed, ' +
      'try again when that has ended',
    { retryAfterSeconds: 10 },
  )
}

// `xmax` has 32 bits of an id that is not 2^31 away from our own.
const IS_CHANGING_SQL = `
WITH schema AS (SELECT oid, xmax AS id FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name),
     relation AS (SELECT c.oid, c.xmax AS id FROM pg_catalog.pg_class c JOIN schema ON c.relnamespace = schema.oid),
     own AS (SELECT pg_catalog.pg_current_xact_id()::text::numeric AS id),
     writing AS (
       SELECT DISTINCT id::text::numeric AS id FROM (
         SELECT id FROM schema
         UNION ALL SELECT id FROM relation
         UNION ALL SELECT a.xmax FROM relation JOIN pg_catalog.pg_attribute a ON a.attrelid = relation.oid
         UNION ALL SELECT p.xmax FROM pg_catalog.pg_proc p JOIN schema ON p.pronamespace = schema.oid
         UNION ALL SELECT t.xmax FROM pg_catalog.pg_type t JOIN schema ON t.typnamespace = schema.oid
         UNION ALL SELECT d.xmax FROM pg_catalog.pg_default_acl d JOIN schema ON d.defaclnamespace = schema.oid
       ) ids WHERE id::text <> '0'
     ),
     whole AS (
       SELECT own.id + (writing.id - own.id % 4294967296 + 6442450944) % 4294967296 - 2147483648 AS id FROM writing, own
     )
SELECT EXISTS (
  SELECT FROM whole
   WHERE CASE WHEN id > 0 THEN pg_catalog.pg_xact_status(id::text::pg_catalog.xid8) = 'in progress' END
) AS changing`
