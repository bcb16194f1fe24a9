import type pg from 'pg'
import { conflict } from '../../errors.ts'

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

/**
 * @see EXTENSION_SCHEMAS
 *
 * @param session in which whatever is named comes from `pg_catalog`.
 * @throws {AppError} CONFLICT where somebody else has made an operator that Wharf's questions could come to call.
 */
export async function readExtensionSchemas(session: Pick<pg.Pool, 'query'>): Promise<readonly string[]> {
  const { rows: foreign } = await session.query<{ name: string; owner: string }>(FOREIGN_OPERATORS)
  const [operator] = foreign
  if (operator) {
    throw conflict(
      `the operator ${operator.name} of values that PostgreSQL itself knows belongs to "${operator.owner}", whose code would run with ` +
        'the rights of the login of this project: drop it, or give it to that login',
    )
  }
  const { rows } = await session.query<{ name: string }>(EXTENSION_SCHEMAS)
  return rows.map(({ name }) => name)
}

/**
 * Who may make something in a schema can make an operator there that fits two values better than PostgreSQL's own, which
 * is then called where both are looked for. Those of superusers, extensions and the login itself may be called.
 */
const FOREIGN_OPERATORS = `
  SELECT pg_catalog.format('%I.%s (%s, %s)', n.nspname, o.oprname, pg_catalog.format_type(o.oprleft, NULL),
           pg_catalog.format_type(o.oprright, NULL)) AS name, r.rolname::text AS owner
    FROM pg_catalog.pg_operator o
    JOIN pg_catalog.pg_namespace n_catalog ON n_catalog.nspname = 'pg_catalog'
    JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace AND n.nspname <> 'pg_catalog'
    JOIN pg_catalog.pg_roles r ON r.oid = o.oprowner AND NOT r.rolsuper AND r.rolname <> CURRENT_USER
    JOIN pg_catalog.pg_type right_type ON right_type.oid = o.oprright
    LEFT JOIN pg_catalog.pg_type left_type ON left_type.oid = o.oprleft
   WHERE right_type.typnamespace = n_catalog.oid AND COALESCE(left_type.typnamespace, n_catalog.oid) = n_catalog.oid
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                      WHERE e.classid = o.tableoid AND e.objid = o.oid AND e.deptype = 'e')
   ORDER BY o.oid LIMIT 1`
