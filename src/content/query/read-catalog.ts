import { quoteQualified } from '../../database/quoting.ts'
import type { CatalogColumn, CatalogTable, CatalogType, ForeignKey, RelationKind, StageCatalog } from './catalog.ts'
import { CATALOG_SQL } from './catalog-sql.ts'
import { type CallableRow, toFunctions } from './read-functions.ts'

/** How the catalogs are asked: one SQL text with parameters in, rows out. */
export type CatalogQuery = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/**
 * Reads a stage's tables, keys, functions and types, in one statement.
 *
 * @throws {Error} where there is no such schema.
 */
export async function readCatalog(query: CatalogQuery, schemaName: string): Promise<StageCatalog> {
  const [row] = await query<{ catalog: string | null }>(CATALOG_SQL, [schemaName])
  if (!row?.catalog) throw new Error(`there is no schema ${schemaName}`)
  const read: ReadRows = JSON.parse(row.catalog)
  const types = toTypes(read.types)
  const typeOf = (oid: string): CatalogType => {
    const type = types.get(oid)
    if (!type) throw new Error(`the catalog has no type with the oid ${oid}`)
    return type
  }
  const tables = new Map(read.tables.map((table) => [table.name, toTable(table, typeOf)]))
  return {
    schemaName,
    tables,
    functions: toFunctions(read.callable, tables, typeOf),
    foreignKeys: read.foreignKeys,
    hasUnseen: read.tables.some(({ unseen }) => unseen),
    castTypes: toCastTypes(read.types, typeOf),
  }
}

interface ReadRows {
  readonly tables: readonly TableRow[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly callable: readonly CallableRow[]
  readonly types: readonly TypeRow[]
}

interface TableRow {
  readonly name: string
  readonly kind: string
  readonly comment: string | null
  readonly unseen: boolean
  readonly columns: readonly (Omit<CatalogColumn, 'type'> & { readonly type: string })[]
  readonly keys: readonly {
    readonly columns: readonly string[]
    readonly primary: boolean
    readonly immediate: boolean
  }[]
}

interface TypeRow {
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** As SQL names it, which differs for some of PostgreSQL's own. */
  readonly written: string
  readonly kind: string
  readonly category: string
  readonly array: string | null
  readonly element: string | null
  /** What a domain is over. */
  readonly base: string | null
}

function toTable(row: TableRow, typeOf: (oid: string) => CatalogType): CatalogTable {
  const columns = row.columns.map((column): [string, CatalogColumn] => [
    column.name,
    { ...column, type: typeOf(column.type) },
  ])
  return {
    name: row.name,
    kind: KINDS[row.kind] ?? 'table',
    comment: row.comment,
    unseen: row.unseen,
    columns: new Map(columns),
    primaryKey: row.keys.find(({ primary }) => primary)?.columns ?? [],
    uniqueKeys: row.keys.filter(({ immediate }) => immediate).map((key) => key.columns),
  }
}

const KINDS: Readonly<Record<string, RelationKind>> = { v: 'view', m: 'materialized view', f: 'foreign table' }

function toTypes(rows: readonly TypeRow[]): ReadonlyMap<string, CatalogType> {
  const byOid = new Map(rows.map((row) => [row.oid, row]))
  const sqlOf = (row: TypeRow | undefined): string | null => (row ? quoteQualified(row.schema, row.name) : null)
  const arrayOf = ({ array }: TypeRow): string | null => (array === null ? null : sqlOf(byOid.get(array)))
  const underDomains = (row: TypeRow): TypeRow => {
    const base = row.base === null ? undefined : byOid.get(row.base)
    return base ? underDomains(base) : row
  }
  const toType = (row: TypeRow): CatalogType => {
    const base = underDomains(row)
    return {
      name: writtenName(row, byOid),
      sql: quoteQualified(row.schema, row.name),
      arraySql: arrayOf(row),
      kind: base.kind,
      category: base.category,
      baseSql: quoteQualified(base.schema, base.name),
      baseArraySql: arrayOf(base),
      builtIn: base.schema === 'pg_catalog' ? base.name : null,
    }
  }
  return new Map(rows.map((row) => [row.oid, toType(row)]))
}

function writtenName(row: TypeRow, byOid: ReadonlyMap<string, TypeRow>): string {
  const element = row.element === null ? undefined : byOid.get(row.element)
  return element && element.array === row.oid ? `${writtenName(element, byOid)}[]` : row.written
}

/** Names for types that SQL's grammar has and the catalogs don't. `char` is not the catalog's type of that name. */
const OTHER_NAMES: Readonly<Record<string, string>> = { int: 'int4', decimal: 'numeric', float: 'float8' }
/** Types that a value can't be cast to, or that say something about the database rather than the value. */
const NOT_FOR_CASTS = /^_?(reg|pg_|char$)/

/** Where a type of the stage's has the name of one of PostgreSQL's own, that one is meant, as in SQL. */
function toCastTypes(rows: readonly TypeRow[], typeOf: (oid: string) => CatalogType): ReadonlyMap<string, CatalogType> {
  const isOwn = ({ schema }: TypeRow): boolean => schema === 'pg_catalog'
  const known = new Map<string, CatalogType>()
  for (const row of [...rows.filter((each) => !isOwn(each)), ...rows.filter(isOwn)]) {
    if (row.kind === 'p' || (isOwn(row) && NOT_FOR_CASTS.test(row.name))) continue
    const type = typeOf(row.oid)
    known.set(row.name, type).set(type.name, type)
  }
  for (const [other, name] of Object.entries(OTHER_NAMES)) {
    const type = known.get(name)
    if (type) known.set(other, type)
  }
  return known
}
