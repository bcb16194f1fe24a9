import { quoteQualified } from '../../database/quoting.ts'
import type {
  CatalogColumn,
  CatalogTable,
  CatalogType,
  ComputedColumn,
  ComputedRelation,
  MediaAggregate,
  RelationKind,
  Representation,
  StageCatalog,
} from './catalog.ts'
import { type KeyRow, type PrimaryKeyRow, relationsOf, type ViewRow } from './catalog-relations.ts'
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
  const types = toTypes(read.types, read.casts)
  const typeOf = (oid: string): CatalogType => {
    const type = types.get(oid)
    if (!type) throw new Error(`the catalog has no type with the oid ${oid}`)
    return type
  }
  const { relations, viewKeys } = relationsOf(read)
  const names = new Map(read.tables.map(({ oid, name }) => [oid, name]))
  const tables = read.tables.map((table): [string, CatalogTable] => {
    const computed = read.computed.filter((each) => each.table === table.oid && !each.returnsSet)
    return [
      table.name,
      {
        ...toTable(table, typeOf),
        computed: new Map(
          computed.map((each): [string, ComputedColumn] => [each.name, { ...each, type: typeOf(each.type) }]),
        ),
        ...(viewKeys.has(table.oid) && { primaryKey: viewKeys.get(table.oid) ?? [] }),
      },
    ]
  })
  const byName = new Map(tables)
  return {
    schemaName,
    tables: byName,
    functions: toFunctions(read.callable, byName, typeOf),
    foreignKeys: relations.filter(({ ofTables }) => ofTables),
    relations,
    computedRelations: read.computed.flatMap((each): ComputedRelation[] => {
      const [table, foreignTable] = [names.get(each.table), names.get(each.foreignTable ?? '')]
      return table === undefined || foreignTable === undefined ? [] : [{ ...each, table, foreignTable }]
    }),
    hasUnseen: [
      ...read.tables.map(({ unseen }) => unseen),
      ...[...read.computed, ...read.casts, ...read.mediaAggregates].map(({ volatile }) => volatile),
    ].some(Boolean),
    castTypes: toCastTypes(read.types, typeOf),
    mediaAggregates: read.mediaAggregates.map(({ type, ...each }) => ({
      ...each,
      givesBytes: typeOf(type).builtIn === 'bytea',
    })),
    toFeature: read.toFeature,
  }
}

interface ReadRows {
  readonly tables: readonly TableRow[]
  readonly foreignKeys: readonly KeyRow[]
  readonly primaryKeys: readonly PrimaryKeyRow[]
  readonly views: readonly ViewRow[]
  readonly computed: readonly ComputedRow[]
  readonly casts: readonly CastRow[]
  readonly callable: readonly CallableRow[]
  readonly mediaAggregates: readonly MediaAggregateRow[]
  readonly toFeature: string | null
  readonly types: readonly TypeRow[]
}

/** A function of one argument, a row of `table`. */
interface ComputedRow {
  readonly name: string
  readonly sql: string
  readonly table: string
  readonly type: string
  /** The table whose rows it returns, if it does. */
  readonly foreignTable: string | null
  readonly returnsSet: boolean
  readonly toOne: boolean
  readonly volatile: boolean
}

interface MediaAggregateRow extends Omit<MediaAggregate, 'givesBytes'> {
  /** The domain. */
  readonly type: string
}

interface CastRow {
  readonly domain: string
  readonly direction: 'to' | 'from'
  readonly other: 'json' | 'text'
  readonly sql: string
  readonly volatile: boolean
}

interface TableRow {
  readonly oid: string
  readonly name: string
  readonly kind: string
  readonly comment: string | null
  readonly unseen: boolean
  /** As `pg_relation_is_updatable` has it. */
  readonly updatable: number
  readonly columns: readonly (Omit<CatalogColumn, 'type'> & { readonly type: string; readonly number: number })[]
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

function toTable(row: TableRow, typeOf: (oid: string) => CatalogType): Omit<CatalogTable, 'computed'> {
  const columns = row.columns.map(({ number: _, ...column }): [string, CatalogColumn] => [
    column.name,
    { ...column, type: typeOf(column.type) },
  ])
  return {
    name: row.name,
    kind: KINDS[row.kind] ?? 'table',
    comment: row.comment,
    unseen: row.unseen,
    writable: new Set(WRITES.flatMap(([kind, bit]) => (row.updatable & bit ? [kind] : []))),
    columns: new Map(columns),
    primaryKey: row.keys.find(({ primary }) => primary)?.columns ?? [],
    uniqueKeys: row.keys.filter(({ immediate }) => immediate).map((key) => key.columns),
  }
}

/** The bits of `pg_relation_is_updatable`: 1 to the left by the number of the command. */
const WRITES = [
  ['update', 1 << 2],
  ['insert', 1 << 3],
  ['delete', 1 << 4],
] as const

const KINDS: Readonly<Record<string, RelationKind>> = { v: 'view', m: 'materialized view', f: 'foreign table' }

function toTypes(rows: readonly TypeRow[], casts: readonly CastRow[]): ReadonlyMap<string, CatalogType> {
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
      representation: toRepresentation(casts.filter(({ domain }) => domain === row.oid)),
    }
  }
  return new Map(rows.map((row) => [row.oid, toType(row)]))
}

function toRepresentation(casts: readonly CastRow[]): Representation {
  const find = (...of: readonly [CastRow['direction'], CastRow['other']]): CastRow | undefined =>
    casts.find(({ direction, other }) => direction === of[0] && other === of[1])
  const [toJson, fromJson, fromText] = [find('to', 'json'), find('from', 'json'), find('from', 'text')]
  return { ...(toJson && { toJson }), ...(fromJson && { fromJson }), ...(fromText && { fromText }) }
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
