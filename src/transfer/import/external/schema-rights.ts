import { quoteIdentifier } from '../../../database/quoting.ts'
import type { Query } from '../../structure/query.ts'

/** What a login may do about the schema of a stage, in a database that is not Wharf's. */
export interface SchemaRights {
  readonly databaseName: string
  /** Whether it may make schemas. */
  readonly mayCreateSchemas: boolean
  /** Whether it may make things in this one. */
  readonly mayCreate: boolean
  /**
   * Whether it may give it another name, and another schema its own: `public` stays, since it is PostgreSQL's, and belongs to
   * the owner of the database.
   */
  readonly renamed: boolean
  /** Publications that send all tables of the database, also those that are loaded beside. */
  readonly publications: readonly string[]
}

/** @param query asks as the login. */
export async function readSchemaRights(query: Query, schemaName: string): Promise<SchemaRights> {
  const [rights] = await query<SchemaRights>(RIGHTS_SQL, [schemaName])
  return rights ?? { databaseName: '', mayCreateSchemas: false, mayCreate: false, renamed: false, publications: [] }
}

const RIGHTS_SQL = `
SELECT d.datname::text AS "databaseName",
       pg_catalog.has_database_privilege(d.oid, 'CREATE') AS "mayCreateSchemas",
       pg_catalog.has_schema_privilege(n.oid, 'CREATE') AS "mayCreate",
       n.nspname <> 'public' AND pg_catalog.pg_get_userbyid(n.nspowner) = CURRENT_USER AS renamed,
       ARRAY(SELECT pubname::text FROM pg_catalog.pg_publication WHERE puballtables ORDER BY 1) AS publications
  FROM pg_catalog.pg_database d CROSS JOIN pg_catalog.pg_namespace n
 WHERE d.datname = pg_catalog.current_database() AND n.nspname = $1::pg_catalog.name`

/** What keeps a stage from being made beside, each with the statement that would allow it. */
export function reasonsAgainstBeside(
  { login, schemaName }: { readonly login: string; readonly schemaName: string },
  { databaseName, mayCreateSchemas, mayCreate }: SchemaRights,
): readonly string[] {
  const to = quoteIdentifier(login)
  return [
    ...(mayCreateSchemas
      ? []
      : [
          `the login "${login}" may not make a schema beside "${schemaName}" ` +
            `(GRANT CREATE ON DATABASE ${quoteIdentifier(databaseName)} TO ${to})`,
        ]),
    ...(mayCreate
      ? []
      : [
          `the login "${login}" may not make anything in the schema "${schemaName}" ` +
            `(GRANT CREATE ON SCHEMA ${quoteIdentifier(schemaName)} TO ${to})`,
        ]),
  ]
}

/**
 * The tables of a schema with which the login may do what their owner may: its own, and those of roles whose member it is.
 */
export async function readOurTables(query: Query, schemaName: string): Promise<ReadonlySet<string>> {
  const rows = await query<{ name: string }>(OURS_SQL, [schemaName])
  return new Set(rows.map(({ name }) => name))
}

const OURS_SQL = `
SELECT c.relname::text AS name FROM pg_catalog.pg_class c
 WHERE c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1))::pg_catalog.oid
   AND pg_catalog.pg_has_role(c.relowner, 'USAGE')`
