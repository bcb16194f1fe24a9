/*
 * PostgreSQL takes an operator of exactly the types of its two values first, and looks for it in `pg_catalog` before all
 * other schemas. Where there is none, the one that fits best is taken out of all that the session's `search_path` has: that of
 * somebody who may make something there, and its function runs with the rights of the session's login.
 *
 * So what a session asks whose path is a stage's compares and joins values of one type, and casts them to it where they are of several.
 * test/attacks/operators.test.ts tries it. Of numbers that are compared with an OID, that means to write them in quotes.
 */

/** The OID of a catalog, as `classid` has it. */
export const catalogOid = (catalog: string): string => `'pg_catalog.${catalog}'::pg_catalog.regclass::pg_catalog.oid`

/** The OID of the schema `pg_catalog`. */
export const PG_CATALOG_OID = `'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid`

/** The OID of a type that PostgreSQL brings. */
export const typeOid = (type: string): string => `'pg_catalog.${type}'::pg_catalog.regtype::pg_catalog.oid`
