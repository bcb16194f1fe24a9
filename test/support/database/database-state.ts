import { setTimeout as delay } from 'node:timers/promises'
import { quoteLiteral, quoteQualified } from '../../../src/database/quoting.ts'
import type { TestDatabase } from './database.ts'

/** By what it is about, e.g. `rows of shop.live.album`. */
export type DatabaseState = Readonly<Record<string, string>>

/** What somebody could change in a schema without changing a row: who has it, what is in it, and under which number. */
const CATALOGS: Readonly<Record<string, string>> = {
  schemas: `SELECT nspname, oid, nspowner::regrole, nspacl FROM pg_namespace WHERE $SCHEMA`,
  relations: `SELECT nspname, relname, c.oid, relfilenode, relkind, relowner::regrole, relacl, relrowsecurity, relforcerowsecurity
    FROM pg_class c JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE $SCHEMA`,
  columns: `SELECT nspname, relname, attname, atttypid::regtype, attnotnull, attisdropped
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE $SCHEMA`,
  constraints: `SELECT nspname, conname, k.oid, pg_get_constraintdef(k.oid), convalidated
    FROM pg_constraint k JOIN pg_namespace ON pg_namespace.oid = connamespace WHERE $SCHEMA`,
  functions: `SELECT nspname, proname, p.oid FROM pg_proc p JOIN pg_namespace ON pg_namespace.oid = pronamespace WHERE $SCHEMA`,
  types: `SELECT nspname, typname, t.oid FROM pg_type t JOIN pg_namespace ON pg_namespace.oid = typnamespace WHERE $SCHEMA`,
  triggers: `SELECT nspname, relname, tgname, tgenabled FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE $SCHEMA AND NOT tgisinternal`,
  sequences: `SELECT schemaname AS nspname, sequencename, last_value FROM pg_sequences
    JOIN pg_namespace ON nspname = schemaname WHERE $SCHEMA`,
}

/**
 * Everything in a database that an import could change: what there is, and the sum of each table's rows.
 *
 * @param where which schemas count, as a condition on `nspname`; all that are not PostgreSQL's own or the queue's, if
 *   not told.
 */
export async function readState(database: TestDatabase, where = 'true'): Promise<DatabaseState> {
  await nothingExpired(database)
  return readObjects(database, where)
}

/** The same of any database, whether it has Wharf's tables or not. */
export async function readObjects(database: Pick<TestDatabase, 'query'>, where = 'true'): Promise<DatabaseState> {
  const schema = `(nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'bullmq') AND (${where}))`
  const tables = await database.query<{ schema: string; name: string }>(
    `SELECT nspname::text AS schema, relname::text AS name FROM pg_class
     JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind IN ('r', 'm') AND relispopulated AND ${schema}`,
  )
  const sums = [
    ...Object.entries(CATALOGS).map(([what, sql]) => sumOf(what, `(${sql.replaceAll('$SCHEMA', schema)})`)),
    ...tables.map((table) => sumOf(`rows of ${table.schema}.${table.name}`, quoteQualified(table.schema, table.name))),
    sumOf('large objects', 'pg_largeobject_metadata'),
  ]
  const rows = await database.query<{ what: string; sum: string }>(sums.join('\nUNION ALL\n'))
  return Object.fromEntries(rows.map(({ what, sum }) => [what, sum]))
}

/** What had been kept before the last import goes behind its back, so it may still be there for a moment. */
async function nothingExpired(database: TestDatabase): Promise<void> {
  const expired = 'SELECT schema_name FROM system.side_schema WHERE expires_at <= now()'
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await delay(50)) {
    if ((await database.query(expired)).length === 0) return
  }
  throw new Error('what was kept before the last import does not go')
}

/** SQL for the number of rows of something and their sum, in no order. */
const sumOf = (what: string, from: string): string =>
  `SELECT ${quoteLiteral(what)} AS what,
          count(*) || ' ' || coalesce(md5(string_agg(x::text, '\n' ORDER BY x::text)), '') AS sum FROM ${from} AS x`
