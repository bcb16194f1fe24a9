import type pg from 'pg'
import { type NameColumn, readNameColumns, type TableName } from './name-columns.ts'

/** The schemas of names that extensions have made. */
export type SchemaByName = ReadonlyMap<string, string>

export interface ExtensionNames {
  /** Looks again which there are. */
  refresh(): Promise<void>
  /** Of some names, those that an extension has and the stage has not, with the schema that they are in. */
  find(names: readonly string[]): Promise<SchemaByName>
  /** Of some names, those that types and tables of PostgreSQL's own have. */
  findBuiltIn(names: readonly string[]): Promise<ReadonlySet<string>>
  /** The columns of a table, of some or of all, whose values are names of objects. */
  findNameColumns(table: TableName, columns: readonly string[] | undefined): Promise<readonly NameColumn[]>
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
     WHERE classid = 'pg_catalog.${catalog}'::pg_catalog.regclass AND deptype = 'e'`,
)}) member JOIN pg_catalog.pg_namespace ON pg_namespace.oid = member.schema WHERE nspname <> 'pg_catalog'`

/** `$1`: the schema; `$2`: the names. */
const IN_SCHEMA = `SELECT name::text FROM (${union(
  (catalog, name, schema) => `SELECT ${name} AS name, ${schema} AS schema FROM pg_catalog.${catalog}`,
)}) thing JOIN pg_catalog.pg_namespace ON pg_namespace.oid = thing.schema WHERE nspname = $1 AND name = ANY ($2)`

/** `$1`: the names. Tables have a type of the same name. */
const BUILT_IN = `SELECT typname::text AS name FROM pg_catalog.pg_type
  WHERE typnamespace = 'pg_catalog'::pg_catalog.regnamespace AND typname = ANY ($1)`

/** @param client in which a script runs. */
export function createExtensionNames(client: pg.PoolClient, stageSchema: string): ExtensionNames {
  let members: SchemaByName = new Map()
  return {
    async refresh() {
      const { rows } = await client.query<{ name: string; schema: string }>(MEMBERS)
      members = new Map(rows.map(({ name, schema }) => [name, schema]))
    },
    async find(names) {
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
    },
    async findBuiltIn(names) {
      if (names.length === 0) return new Set()
      const { rows } = await client.query<{ name: string }>(BUILT_IN, [[...names]])
      return new Set(rows.map(({ name }) => name))
    },
    findNameColumns: (table, columns) => readNameColumns(client, table, columns),
  }
}

/** What is asked about the names of a statement. */
export type KnownNames = Pick<ExtensionNames, 'find' | 'findBuiltIn' | 'findNameColumns'>

export const noKnownNames: KnownNames = {
  find: async () => new Map(),
  findBuiltIn: async () => new Set(),
  findNameColumns: async () => [],
}
