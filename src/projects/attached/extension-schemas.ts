import type pg from 'pg'
import { catalogOid } from '../../database/catalog-oids.ts'
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
       LEFT JOIN pg_catalog.pg_proc p ON d.classid = ${catalogOid('pg_proc')} AND p.oid = d.objid
       LEFT JOIN pg_catalog.pg_type t ON d.classid = ${catalogOid('pg_type')} AND t.oid = d.objid
       LEFT JOIN pg_catalog.pg_class c ON d.classid = ${catalogOid('pg_class')} AND c.oid = d.objid
       LEFT JOIN pg_catalog.pg_operator o ON d.classid = ${catalogOid('pg_operator')} AND o.oid = d.objid
       LEFT JOIN pg_catalog.pg_collation l ON d.classid = ${catalogOid('pg_collation')} AND l.oid = d.objid
       LEFT JOIN pg_catalog.pg_opclass f ON d.classid = ${catalogOid('pg_opclass')} AND f.oid = d.objid
      WHERE d.deptype = 'e' AND d.refclassid = ${catalogOid('pg_extension')})
   ORDER BY nspname`

/**
 * @see EXTENSION_SCHEMAS
 *
 * @param session in which whatever is named comes from `pg_catalog`.
 * @throws {AppError} as `assertNoForeignOperators`.
 */
export async function readExtensionSchemas(session: Pick<pg.Pool, 'query'>): Promise<readonly string[]> {
  await assertNoForeignOperators(async (sql) => (await session.query(sql)).rows)
  const { rows } = await session.query<{ name: string }>(EXTENSION_SCHEMAS)
  return rows.map(({ name }) => name)
}

/**
 * What Wharf asks itself calls no such operator, wherever it is (`src/database/catalog-oids.ts`). But what an archive says
 * of checks, indexes and functions is read in the path of the stage, and so are the bodies of a project's functions.
 *
 * @param query in a session of the project's login.
 * @throws {AppError} CONFLICT where somebody else has made an operator that these could come to call.
 */
export async function assertNoForeignOperators(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const [operator] = (await query(FOREIGN_OPERATORS)) as { readonly name: string; readonly owner: string }[]
  if (!operator) return
  throw conflict(
    `the operator ${operator.name} of values that PostgreSQL itself knows belongs to "${operator.owner}", whose code would run with ` +
      'the rights of the login of this project: drop it, or give it to that login',
  )
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
