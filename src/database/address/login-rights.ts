import { RECALL_OWNERSHIP } from '../recall-ownership.ts'

/** Runs one query as the login that is examined, in a session that finds names in `pg_catalog` alone. */
export type CatalogQuery = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/** What a login is, and may do with a database and one of its schemas. */
export interface LoginRights {
  readonly version: string
  readonly login: string
  readonly isSuperuser: boolean
  readonly database: string
  readonly mayCreateSchemas: boolean
  /** Whether its transactions are read only unless they ask for something else. */
  readonly isReadOnly: boolean
  readonly isStandby: boolean
  readonly schemaExists: boolean
  readonly schemaOwner: string | null
  /** Also as a member of its owner; the owner of a database is a member of `pg_database_owner`. */
  readonly ownsSchema: boolean
  readonly mayUseSchema: boolean
  readonly mayCreateInSchema: boolean
}

/** A table, a sequence or a materialized view. */
export interface ExaminedRelation {
  readonly name: string
  readonly kind: 'TABLE' | 'SEQUENCE' | 'MATERIALIZED VIEW'
  readonly owner: string
  /** Whether the login may do all that its owner may. */
  readonly isMember: boolean
  /** Whether it may read it, where there is anything to read: what a materialized view has follows from tables. */
  readonly isReadable: boolean
  /** Whether policies decide which rows the login sees. */
  readonly hidesRows: boolean
}

/** Anything in a schema that has an owner. */
export interface ForeignObject {
  /** In PostgreSQL's words, such as `function`, and its name as statements have it. */
  readonly type: string
  readonly identity: string
  readonly owner: string
  readonly ownerIsSuperuser: boolean
}

export async function readLoginRights(query: CatalogQuery, schema: string): Promise<LoginRights> {
  await query(RECALL_OWNERSHIP, [])
  const [rights] = await query<LoginRights>(
    `SELECT current_setting('server_version') AS version, rolname::text AS login, rolsuper AS "isSuperuser",
            current_database()::text AS database,
            has_database_privilege(current_database(), 'CREATE') AS "mayCreateSchemas",
            current_setting('default_transaction_read_only') = 'on' AS "isReadOnly",
            pg_is_in_recovery() AS "isStandby",
            n.oid IS NOT NULL AS "schemaExists", pg_get_userbyid(nspowner)::text AS "schemaOwner",
            coalesce(pg_has_role(nspowner, 'USAGE'), false) AS "ownsSchema",
            coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS "mayUseSchema",
            coalesce(has_schema_privilege(n.oid, 'CREATE'), false) AS "mayCreateInSchema"
     FROM pg_roles r LEFT JOIN pg_namespace n ON nspname = $1 WHERE rolname = current_user`,
    [schema],
  )
  if (!rights) throw new Error('the server does not know the login of this session')
  return rights
}

/** Whether something belongs to an extension, which brings it along again. */
const IS_OF_EXTENSION = (catalog: string, oid: string): string =>
  `EXISTS (SELECT FROM pg_depend d WHERE d.classid = '${catalog}'::regclass AND d.objid = ${oid} AND d.deptype = 'e')`

export const readRelations = (query: CatalogQuery, schema: string): Promise<readonly ExaminedRelation[]> =>
  query<ExaminedRelation>(
    `SELECT relname::text AS name, pg_get_userbyid(relowner)::text AS owner,
            CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind,
            pg_has_role(relowner, 'USAGE') AS "isMember",
            CASE relkind WHEN 'm' THEN true WHEN 'S' THEN has_sequence_privilege(c.oid, 'SELECT')
              ELSE has_table_privilege(c.oid, 'SELECT') END AS "isReadable",
            relkind <> 'S' AND row_security_active(c.oid) AS "hidesRows"
     FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
     WHERE nspname = $1 AND relkind IN ('r', 'p', 'S', 'm') AND NOT ${IS_OF_EXTENSION('pg_class', 'c.oid')}
     ORDER BY relname`,
    [schema],
  )

/** Catalogs whose objects stand in schemas and have owners, with the columns that say so. */
const OWNED = [
  ['pg_class', 'rel', `relkind IN ('r', 'p', 'S', 'm', 'v', 'f', 'c')`],
  // The functions of a range type come and go with it; before version 16, they belong to the first superuser.
  [
    'pg_proc',
    'pro',
    `NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = o.oid AND d.deptype = 'i')`,
  ],
  // Types of tables and arrays come and go with what they are of.
  [
    'pg_type',
    'typ',
    `typrelid = 0 AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = o.typelem AND e.typarray = o.oid) AND typtype <> 'm'`,
  ],
  ['pg_operator', 'opr', 'true'],
  ['pg_opclass', 'opc', 'true'],
  ['pg_opfamily', 'opf', 'true'],
  ['pg_collation', 'coll', 'true'],
  ['pg_conversion', 'con', 'true'],
  ['pg_ts_config', 'cfg', 'true'],
  ['pg_ts_dict', 'dict', 'true'],
  ['pg_statistic_ext', 'stx', 'true'],
] as const

const FOREIGN_OBJECTS = OWNED.map(
  ([catalog, prefix, condition]) =>
    `SELECT '${catalog}'::regclass::oid AS class, o.oid, ${prefix}owner AS owner FROM ${catalog} o
     WHERE ${prefix}namespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND ${condition}
       AND NOT (pg_has_role(${prefix}owner, 'USAGE') AND pg_has_role(${prefix}owner, $2))
       AND NOT ${IS_OF_EXTENSION(catalog, 'o.oid')}`,
).join(' UNION ALL ')

/** The version since which a membership says what it is good for. */
const MEMBERSHIP_HAS_OPTIONS = 16

/** Whether members may be given what their owner has, and give it back, only where a membership says so. */
export const saysMembership = ({ version }: Pick<LoginRights, 'version'>): boolean =>
  Number.parseInt(version, 10) >= MEMBERSHIP_HAS_OPTIONS

/** What the login may neither do as it likes with, nor give to its owner: it does not own it, and is no member of who does. */
export const readForeignObjects = (
  query: CatalogQuery,
  schema: string,
  rights: LoginRights,
): Promise<readonly ForeignObject[]> =>
  query<ForeignObject>(
    `SELECT i.type, i.identity, rolname::text AS owner, rolsuper AS "ownerIsSuperuser"
     FROM (${FOREIGN_OBJECTS}) f CROSS JOIN LATERAL pg_identify_object(f.class, f.oid, 0) i
     JOIN pg_roles r ON r.oid = f.owner
     ORDER BY i.type, i.identity`,
    [schema, saysMembership(rights) ? 'SET' : 'MEMBER'],
  )

/** Extensions that are, or have anything, in a schema. */
export async function readExtensions(query: CatalogQuery, schema: string): Promise<readonly string[]> {
  const members = OWNED.map(
    ([catalog, prefix]) =>
      `EXISTS (SELECT FROM pg_depend d JOIN ${catalog} o ON o.oid = d.objid WHERE d.classid = '${catalog}'::regclass
         AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
         AND o.${prefix}namespace = n.oid)`,
  )
  const rows = await query<{ name: string }>(
    `SELECT extname::text AS name FROM pg_extension e, pg_namespace n
     WHERE nspname = $1 AND (extnamespace = n.oid OR ${members.join(' OR ')}) ORDER BY extname`,
    [schema],
  )
  return rows.map(({ name }) => name)
}
