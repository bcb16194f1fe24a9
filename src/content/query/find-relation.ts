import { type AppError, invalidRequest } from '../../errors.ts'
import type { CatalogTable, ForeignKey, StageCatalog } from './catalog.ts'
import { suggest } from './suggest.ts'

type ColumnPairs = readonly (readonly [near: string, far: string])[]

/** How the rows of one table belong to a row of another. */
export interface Relation {
  readonly table: CatalogTable
  /** Whether there is at most one row for each. */
  readonly toOne: boolean
  /** Columns that are equal: of the table that one comes from, and of the one it leads to. */
  readonly on: ColumnPairs
  /** The table in between, if both refer to it. */
  readonly through: { readonly table: CatalogTable; readonly on: ColumnPairs } | null
  /** What is written in a query to mean this one and no other. */
  readonly written: string
}

interface Candidate extends Relation {
  /** Whether a name without a hint means it. */
  readonly isCalled: (name: string) => boolean
  /** Whether a hint points at it. */
  readonly isHintedBy: (hint: string) => boolean
}

/**
 * Finds the relation that a query names: by its table, its foreign key, or the column that holds it; with a hint (a
 * foreign key, a column, or the table in between) where a table alone would not be enough.
 *
 * @param refuse makes an error that points at a location in the query.
 * @throws {AppError} INVALID_REQUEST: there is none, or more than one.
 */
export function findRelation(
  catalog: StageCatalog,
  from: CatalogTable,
  sought: { readonly name: string; readonly hint: string | null },
  refuse: (problem: string) => AppError,
): Relation {
  const { name, hint } = sought
  const all = candidates(catalog, from)
  const found = all.filter((each) =>
    hint === null ? each.isCalled(name) : each.table.name === name && each.isHintedBy(hint),
  )
  const [relation] = found
  if (relation && found.length === 1) return relation
  if (relation) {
    const { message } = refuse(`"${name}" may be any of ${found.length} relations of "${from.name}"; say which`)
    throw invalidRequest(
      message,
      found.map(({ written }) => ({ detail: `could be ${written}(…)` })),
    )
  }
  const related = all.map(({ table }) => table.name)
  if (hint !== null && related.includes(name)) {
    const hints = all.filter(({ table }) => table.name === name).map(({ written }) => written)
    throw refuse(`"${hint}" names no relation from "${from.name}" to "${name}"; there is ${hints.join(', ')}`)
  }
  throw refuse(`no relation "${name}" of "${from.name}" is known from its foreign keys${suggest(name, related)}`)
}

function candidates(catalog: StageCatalog, from: CatalogTable): readonly Candidate[] {
  const toOthers = catalog.foreignKeys.filter((key) => key.table === from.name)
  const fromOthers = catalog.foreignKeys.filter((key) => key.foreignTable === from.name)
  return [
    ...toOthers.flatMap((key) => towards(catalog, key)),
    ...fromOthers.flatMap((key) => [...backwards(catalog, key), ...across(catalog, key)]),
  ]
}

const pairs = (near: readonly string[], far: readonly string[]): ColumnPairs =>
  near.map((column, index) => [column, far[index] ?? column])

/** From the table that has the foreign key: at most one row. */
function towards(catalog: StageCatalog, key: ForeignKey): readonly Candidate[] {
  const table = catalog.tables.get(key.foreignTable)
  if (!table) return []
  const ofItself = key.table === key.foreignTable
  const [column] = key.columns
  return [
    {
      table,
      toOne: true,
      on: pairs(key.columns, key.foreignColumns),
      through: null,
      written: ofItself ? key.name : `${table.name}!${key.name}`,
      // By its own name, a table that refers to itself is embedded as the rows that refer to each.
      isCalled: (name) =>
        (!ofItself && name === table.name) || name === key.name || (key.columns.length === 1 && name === column),
      // Hints lead from a row to those that refer to it, where a table refers to itself.
      isHintedBy: (hint) => !ofItself && pointsAt(hint, key),
    },
  ]
}

/** From the table that a foreign key refers to: any number of rows, unless its columns are unique. */
function backwards(catalog: StageCatalog, key: ForeignKey): readonly Candidate[] {
  const table = catalog.tables.get(key.table)
  if (!table) return []
  const ofItself = key.table === key.foreignTable
  return [
    {
      table,
      toOne: table.uniqueKeys.some((unique) => unique.every((column) => key.columns.includes(column))),
      on: pairs(key.foreignColumns, key.columns),
      through: null,
      written: `${table.name}!${key.name}`,
      isCalled: (name) => name === table.name || (!ofItself && name === key.name),
      isHintedBy: (hint) => pointsAt(hint, key),
    },
  ]
}

/** Through a table whose primary key has foreign keys to both. */
function across(catalog: StageCatalog, here: ForeignKey): readonly Candidate[] {
  const between = catalog.tables.get(here.table)
  if (!between) return []
  return catalog.foreignKeys.flatMap((there): readonly Candidate[] => {
    const table = catalog.tables.get(there.foreignTable)
    if (!table || there === here || there.table !== between.name) return []
    if (![...here.columns, ...there.columns].every((column) => between.primaryKey.includes(column))) return []
    return [
      {
        table,
        toOne: false,
        on: pairs(here.foreignColumns, here.columns),
        through: { table: between, on: pairs(there.columns, there.foreignColumns) },
        written: `${table.name}!${between.name}`,
        isCalled: (name) => name === table.name,
        isHintedBy: (hint) => hint === between.name,
      },
    ]
  })
}

const pointsAt = (hint: string, key: ForeignKey): boolean =>
  hint === key.name || key.columns.includes(hint) || (key.foreignColumns.length === 1 && key.foreignColumns[0] === hint)
