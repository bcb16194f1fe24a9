import type { ObjectKey } from './dependencies.ts'
import type { Query } from './query.ts'

/** Why an object has no line whose name PostgreSQL's own has as well. */
export const HIDDEN = 'a built-in object of the same name hides it: rename it'

/** `$1`: types. Those of the stage that only their schema tells from PostgreSQL's own, and arrays of these. */
const HIDDEN_TYPES_SQL = `
SELECT 'pg_type:' || t.oid::text AS key,
       CASE WHEN c.oid IS NULL THEN 'type ' || pg_catalog.quote_ident(e.typname::text)
            ELSE 'the row type of table ' || pg_catalog.quote_ident(c.relname::text) END AS description,
       CASE WHEN c.oid IS NULL THEN 'type' ELSE 'table' END AS renamed
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_type e ON e.oid = CASE t.typcategory WHEN 'A' THEN t.typelem ELSE t.oid END
  LEFT JOIN pg_catalog.pg_class c ON c.oid = e.typrelid AND c.relkind <> 'c'
 WHERE t.oid = ANY ($1::pg_catalog.oid[]) AND NOT pg_catalog.pg_type_is_visible(e.oid)
   AND e.typnamespace = pg_catalog.quote_ident(pg_catalog.current_schema()::text)::pg_catalog.regnamespace::pg_catalog.oid`

/** Of some objects, the types that are hidden so. @returns why nothing that needs one can have a line. */
export async function readHiddenTypes(
  query: Query,
  keys: Iterable<ObjectKey>,
): Promise<ReadonlyMap<ObjectKey, string>> {
  const types = new Set([...keys].flatMap((key) => (key.startsWith('pg_type:') ? [key.slice('pg_type:'.length)] : [])))
  if (types.size === 0) return new Map()
  const rows = await query<{ key: ObjectKey; description: string; renamed: string }>(HIDDEN_TYPES_SQL, [
    `{${[...types].join(',')}}`,
  ])
  return new Map(
    rows.map(({ key, description, renamed }) => [
      key,
      `needs ${description}, which PostgreSQL's own type of that name hides: rename the ${renamed}`,
    ]),
  )
}
