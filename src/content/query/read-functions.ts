import type { CatalogColumn, CatalogFunction, CatalogTable, CatalogType } from './catalog.ts'

/** A function as the catalog's query gives it. */
export interface CallableRow {
  readonly name: string
  /** `pg_proc.provolatile` */
  readonly volatility: string
  readonly set: boolean
  /** The oid of what it returns. */
  readonly type: string
  /** `pg_type.typtype` of that. */
  readonly typeKind: string
  /** The table of the stage whose rows it returns. */
  readonly relation: string | null
  readonly arguments: readonly {
    readonly name: string
    readonly type: string
    readonly variadic: boolean
    readonly optional: boolean
  }[]
  /** Of the rows that it returns. */
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

type TypeOf = (oid: string) => CatalogType

/** The functions by name. */
export function toFunctions(
  rows: readonly CallableRow[],
  tables: ReadonlyMap<string, CatalogTable>,
  typeOf: TypeOf,
): StageFunctions {
  const functions = new Map<string, CatalogFunction[]>()
  for (const row of rows) {
    const same = functions.get(row.name) ?? []
    functions.set(row.name, [...same, toFunction(row, tables, typeOf)])
  }
  return functions
}

type StageFunctions = ReadonlyMap<string, readonly CatalogFunction[]>

const VOLATILITIES = { i: 'immutable', s: 'stable' } as const

function toFunction(row: CallableRow, tables: ReadonlyMap<string, CatalogTable>, typeOf: TypeOf): CatalogFunction {
  const { name, volatility, set } = row
  return {
    name,
    // What it does not say it may do.
    volatility: volatility === 'i' || volatility === 's' ? VOLATILITIES[volatility] : 'volatile',
    arguments: row.arguments.map((each) => ({ ...each, type: typeOf(each.type) })),
    set,
    result: toResult(row, tables, typeOf),
  }
}

function toResult(
  { name, type, typeKind, relation, columns }: CallableRow,
  tables: ReadonlyMap<string, CatalogTable>,
  typeOf: TypeOf,
): CatalogFunction['result'] {
  const table = relation === null ? undefined : tables.get(relation)
  if (table) return { kind: 'row', table }
  if (columns.length > 0) return { kind: 'row', table: tableOf(name, columns, typeOf) }
  const given = typeOf(type)
  return typeKind === 'p' && given.builtIn === 'void' ? { kind: 'nothing' } : { kind: 'value', type: given }
}

/** Columns of a function's own, as those of a table without keys. */
function tableOf(name: string, columns: CallableRow['columns'], typeOf: TypeOf): CatalogTable {
  const all = columns.map((column, index): [string, CatalogColumn] => {
    // PostgreSQL calls a column without a name so; one that is alone, like the function.
    const known = column.name || (columns.length === 1 ? name : `column${index + 1}`)
    const type = typeOf(column.type)
    const rest = { nullable: true, hasDefault: false, generated: false, identity: null, comment: null }
    return [known, { name: known, type, declaredType: type.name, ...rest }]
  })
  return {
    name,
    kind: 'view',
    comment: null,
    unseen: false,
    writable: new Set(),
    columns: new Map(all),
    computed: new Map(),
    primaryKey: [],
    uniqueKeys: [],
  }
}
