import type pg from 'pg'
import { catalogOid, PG_CATALOG_OID } from '../../database/catalog-oids.ts'
import { type NameColumn, type RowColumns, readNameColumns, type TableName } from './name-columns.ts'
import type { BuiltInNames } from './name-map.ts'

/** The schemas of names that extensions have made. */
export type SchemaByName = ReadonlyMap<string, string>

export const noBuiltInNames: BuiltInNames = { functions: new Set(), others: new Set() }

/** What is asked about the names of a statement. */
export interface KnownNames {
  /** Of some names, those that an extension has and the stage has not, with the schema that they are in. */
  find(names: readonly string[]): Promise<SchemaByName>
  /** The same of all names that extensions have. */
  findAll(): Promise<SchemaByName>
  /** Of some names, those that mean something of PostgreSQL's own without a schema. */
  findBuiltIn(names: readonly string[]): Promise<BuiltInNames>
  /** The columns of a table whose values are names of objects, of those that rows have. */
  findNameColumns(table: TableName, columns: RowColumns): Promise<readonly NameColumn[]>
}

/** What an extension can make that has a name in a schema: catalog, name and schema. */
const CATALOGS = [
  ['pg_type', 'typname', 'typnamespace'],
  ['pg_proc', 'proname', 'pronamespace'],
  ['pg_operator', 'oprname', 'oprnamespace'],
  ['pg_opclass', 'opcname', 'opcnamespace'],
  ['pg_opfamily', 'opfname', 'opfnamespace'],
  ['pg_class', 'relname', 'relnamespace'],
  ['pg_ts_dict', 'dictname', 'dictnamespace'],
  ['pg_ts_config', 'cfgname', 'cfgnamespace'],
] as const

const union = (select: (catalog: string, name: string, schema: string) => string): string =>
  CATALOGS.map(([catalog, name, schema]) => select(catalog, name, schema)).join(' UNION ')

const MEMBERS = `SELECT name::text, nspname::text AS schema FROM (${union(
  (catalog, name, schema) =>
    `SELECT ${name} AS name, ${schema} AS schema FROM pg_catalog.${catalog} JOIN pg_catalog.pg_depend ON objid = ${catalog}.oid
     WHERE classid = ${catalogOid(catalog)} AND deptype = 'e'`,
)}) member JOIN pg_catalog.pg_namespace ON pg_namespace.oid = member.schema WHERE nspname <> 'pg_catalog'`

/** `$1`: the schema; `$2`: the names. */
const IN_SCHEMA = `SELECT name::text FROM (${union(
  (catalog, name, schema) => `SELECT ${name} AS name, ${schema} AS schema FROM pg_catalog.${catalog}`,
)}) thing JOIN pg_catalog.pg_namespace ON pg_namespace.oid = thing.schema WHERE nspname = $1 AND name = ANY ($2)`

/**
 * What can be called is found by its arguments, in all schemas together: only where these are the same does PostgreSQL's
 * own hide another one. A script may make it later, so that nothing can be said of one that is not there.
 *
 * @param input the columns with the types of the arguments.
 */
const hiddenCalls = (catalog: string, prefix: string, input: readonly string[]): string => {
  const own = `FROM pg_catalog.${catalog} own JOIN pg_catalog.pg_namespace ON pg_namespace.oid = own.${prefix}namespace
    WHERE nspname = $2 AND own.${prefix}name = found.${prefix}name`
  const isSame = input.map((column) => `own.${column} = found.${column}`).join(' AND ')
  return `SELECT found.${prefix}name::text AS name, ${catalog === 'pg_proc'} AS "isFunction" FROM pg_catalog.${catalog} found
    WHERE found.${prefix}namespace = ${PG_CATALOG_OID} AND found.${prefix}name = ANY ($1)
      AND (NOT EXISTS (SELECT ${own}) OR EXISTS (SELECT ${own} AND ${isSame}))`
}

/** `$1`: the names; `$2`: the schema of the stage. Tables have a type of the same name. */
const BUILT_IN = `SELECT typname::text AS name, false AS "isFunction" FROM pg_catalog.pg_type
    WHERE typnamespace = ${PG_CATALOG_OID} AND typname = ANY ($1)
  UNION ${hiddenCalls('pg_proc', 'pro', ['proargtypes'])}
  UNION ${hiddenCalls('pg_operator', 'opr', ['oprleft', 'oprright'])}`

/** @param client in which a script runs. */
export function createKnownNames(
  client: pg.PoolClient,
  stageSchema: string,
): KnownNames & {
  /** Looks again which names extensions have. */
  refresh(): Promise<void>
} {
  let members: SchemaByName = new Map()
  const find = async (names: readonly string[]): Promise<SchemaByName> => {
    const found = new Map(
      names.flatMap((name) => {
        const schema = members.get(name)
        return schema === undefined ? [] : [[name, schema] as const]
      }),
    )
    if (found.size === 0) return found
    const { rows } = await client.query<{ name: string }>(IN_SCHEMA, [stageSchema, [...found.keys()]])
    for (const { name } of rows) found.delete(name)
    return found
  }
  return {
    async refresh() {
      const { rows } = await client.query<{ name: string; schema: string }>(MEMBERS)
      members = new Map(rows.map(({ name, schema }) => [name, schema]))
    },
    find,
    findAll: () => find([...members.keys()]),
    async findBuiltIn(names) {
      if (names.length === 0) return noBuiltInNames
      const { rows } = await client.query<{ name: string; isFunction: boolean }>(BUILT_IN, [[...names], stageSchema])
      const [functions, others] = [true, false].map((wanted) => rows.filter(({ isFunction }) => isFunction === wanted))
      return { functions: namesOf(functions), others: namesOf(others) }
    },
    findNameColumns: (table, columns) => readNameColumns(client, table, columns),
  }
}

const namesOf = (rows: readonly { readonly name: string }[] = []): ReadonlySet<string> =>
  new Set(rows.map(({ name }) => name))

/** Of a database without extensions, in which no name means anything of PostgreSQL's own. */
export const noKnownNames: KnownNames = {
  find: async () => new Map(),
  findAll: async () => new Map(),
  findBuiltIn: async () => noBuiltInNames,
  findNameColumns: async () => [],
}
