import type pg from 'pg'

/**
 * The schemas in which extensions have something that is found by its name, but for `pg_catalog`, which is looked into
 * anyway.
 */
const EXTENSION_SCHEMAS = `
  SELECT nspname::text AS name FROM pg_catalog.pg_namespace
   WHERE nspname <> 'pg_catalog' AND oid IN (
     SELECT coalesce(p.pronamespace, t.typnamespace, c.relnamespace, o.oprnamespace, l.collnamespace, f.opcnamespace)
       FROM pg_catalog.pg_depend d
       LEFT JOIN pg_catalog.pg_proc p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND p.oid = d.objid
       LEFT JOIN pg_catalog.pg_type t ON d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND t.oid = d.objid
       LEFT JOIN pg_catalog.pg_class c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = d.objid
       LEFT JOIN pg_catalog.pg_operator o ON d.classid = 'pg_catalog.pg_operator'::pg_catalog.regclass AND o.oid = d.objid
       LEFT JOIN pg_catalog.pg_collation l ON d.classid = 'pg_catalog.pg_collation'::pg_catalog.regclass AND l.oid = d.objid
       LEFT JOIN pg_catalog.pg_opclass f ON d.classid = 'pg_catalog.pg_opclass'::pg_catalog.regclass AND f.oid = d.objid
      WHERE d.deptype = 'e' AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass)
   ORDER BY nspname`

/** @see EXTENSION_SCHEMAS @param session in which whatever is named comes from `pg_catalog`. */
export async function readExtensionSchemas(session: Pick<pg.Pool, 'query'>): Promise<readonly string[]> {
  const { rows } = await session.query<{ name: string }>(EXTENSION_SCHEMAS)
  return rows.map(({ name }) => name)
}
