import { AppError, type PostgrestError } from '../../errors.ts'
import type { CatalogRelation, CatalogTable, ComputedRelation, ProjectFunction, StageCatalog } from './catalog.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { ALIKE, POSTGREST_SAYS } from './postgrest-words.ts'
import { mostAlike, suggest } from './suggest.ts'

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
  /** What gives the rows where no columns say which they are: a function of the row that one comes from. */
  readonly computed: ProjectFunction | null
  /** What is written in a query to mean this one and no other. */
  readonly written: string
}

interface Candidate extends Relation {
  /** What it is called where it is one of several. */
  readonly described: { readonly cardinality: Cardinality; readonly relationship: string }
  /** Whether a name without a hint means it. */
  readonly isCalled: (name: string) => boolean
  /** Whether a hint points at it. */
  readonly isHintedBy: (hint: string) => boolean
}

/** In the order in which PostgREST names several. */
const CARDINALITIES = ['one-to-many', 'one-to-one', 'many-to-one', 'many-to-many'] as const
type Cardinality = (typeof CARDINALITIES)[number]

/**
 * Finds the relation that a query names: by its table, its foreign key, or the column that holds it, or by a function that
 * computes it; with a hint (a foreign key, a column, or the table in between) where a table alone would not be enough.
 *
 * @param refuse makes an error that points at a location in the query.
 * @throws {AppError} INVALID_REQUEST where there is none, AMBIGUOUS_RELATION where there is more than one.
 * @see https://docs.postgrest.org/en/stable/references/api/resource_embedding.html
 */
export function findRelation(
  catalog: StageCatalog,
  from: CatalogTable,
  sought: { readonly name: string; readonly hint: string | null },
  refuse: (problem: string, code: string, postgrest: PostgrestError) => AppError,
): Relation {
  const { name, hint } = sought
  const computed = catalog.computedRelations.filter((each) => each.table === from.name)
  const chosen = computed.find((each) => each.name === name)
  if (chosen) return toComputed(catalog, chosen)
  // A function that has the name of a table stands in for every other relation with it.
  const all = candidates(catalog, from).filter(({ table }) => computed.every((each) => each.name !== table.name))
  const found = all.filter((each) =>
    hint === null ? each.isCalled(name) : each.table.name === name && each.isHintedBy(hint),
  )
  const [relation] = found
  if (relation && found.length === 1) return relation
  if (relation) {
    const problem = `"${name}" may be any of ${found.length} relations of "${from.name}"; say which`
    const postgrest = POSTGREST_SAYS.ambiguousRelation(from.name, name, describedOf(found))
    const { message, postgrestCode } = refuse(problem, POSTGREST.ambiguousRelation, postgrest)
    const faults = found.map(({ written }) => ({ detail: `could be ${written}(…)` }))
    throw new AppError('AMBIGUOUS_RELATION', message, { faults, postgrest, ...(postgrestCode && { postgrestCode }) })
  }
  const unknown = (nearest: string | null): PostgrestError =>
    POSTGREST_SAYS.unknownRelation(catalog.schemaName, from.name, sought, nearest)
  const related = [...all.map(({ table }) => table.name), ...computed.map((each) => each.name)]
  if (hint !== null && related.includes(name)) {
    const hints = all.filter(({ table }) => table.name === name).map(({ written }) => written)
    const problem = `"${hint}" names no relation from "${from.name}" to "${name}"; there is ${hints.join(', ')}`
    throw refuse(problem, POSTGREST.unknownRelation, unknown(null))
  }
  const problem = `no relation "${name}" of "${from.name}" is known from its foreign keys${suggest(name, related)}`
  throw refuse(problem, POSTGREST.unknownRelation, unknown(mostAlike(name, related, ALIKE.relations)))
}

const describedOf = (found: readonly Candidate[]): readonly Candidate['described'][] =>
  CARDINALITIES.flatMap((cardinality) =>
    found.flatMap(({ described }) => (described.cardinality === cardinality ? [described] : [])),
  )

function toComputed({ tables }: StageCatalog, { name, foreignTable, toOne, ...computed }: ComputedRelation): Relation {
  const table = tables.get(foreignTable)
  if (!table) throw new Error(`the catalog has no table ${foreignTable}`)
  return { table, toOne, on: [], through: null, computed, written: name }
}

function candidates(catalog: StageCatalog, from: CatalogTable): readonly Candidate[] {
  const toOthers = catalog.relations.filter((key) => key.table === from.name)
  const fromOthers = catalog.relations.filter((key) => key.foreignTable === from.name)
  return [
    ...toOthers.flatMap((key) => towards(catalog, key)),
    ...fromOthers.flatMap((key) => [...backwards(catalog, key), ...across(catalog, key)]),
  ]
}

const pairs = (near: readonly string[], far: readonly string[]): ColumnPairs =>
  near.map((column, index) => [column, far[index] ?? column])

/** A foreign key and its column are names for tables only: views that show the same would make them ambiguous. */
const isCalledByKey = (table: CatalogTable, key: CatalogRelation, near: readonly string[], name: string): boolean =>
  !/view/.test(table.kind) && (name === key.name || (near.length === 1 && name === near[0]))

/** From the table that has the foreign key: at most one row. */
function towards(catalog: StageCatalog, key: CatalogRelation): readonly Candidate[] {
  const table = catalog.tables.get(key.foreignTable)
  if (!table) return []
  const ofItself = key.table === key.foreignTable
  return [
    {
      table,
      toOne: true,
      on: pairs(key.columns, key.foreignColumns),
      ...{ through: null, computed: null },
      written: ofItself ? (key.columns.length === 1 ? `${key.columns[0]}` : key.name) : `${table.name}!${key.name}`,
      // By its own name, a table that refers to itself is embedded as the rows that refer to each.
      isCalled: (name) =>
        ofItself
          ? name === key.name || (key.columns.length === 1 && name === key.columns[0])
          : name === table.name || isCalledByKey(table, key, key.columns, name),
      // Hints lead from a row to those that refer to it, where a table refers to itself.
      isHintedBy: (hint) => !ofItself && pointsAt(hint, key),
      described: {
        cardinality: key.unique ? 'one-to-one' : 'many-to-one',
        relationship: `${key.name} using ${key.table}(${key.columns.join(', ')}) and ${table.name}(${key.foreignColumns.join(', ')})`,
      },
    },
  ]
}

/** From the table that a foreign key refers to: any number of rows, unless its columns are unique. */
function backwards(catalog: StageCatalog, key: CatalogRelation): readonly Candidate[] {
  const table = catalog.tables.get(key.table)
  if (!table) return []
  const ofItself = key.table === key.foreignTable
  return [
    {
      table,
      toOne: key.unique,
      on: pairs(key.foreignColumns, key.columns),
      ...{ through: null, computed: null },
      written: `${table.name}!${key.name}`,
      isCalled: (name) => name === table.name || (!ofItself && isCalledByKey(table, key, key.foreignColumns, name)),
      isHintedBy: (hint) => pointsAt(hint, key),
      described: {
        cardinality: key.unique ? 'one-to-one' : 'one-to-many',
        relationship: `${key.name} using ${key.foreignTable}(${key.foreignColumns.join(', ')}) and ${table.name}(${key.columns.join(', ')})`,
      },
    },
  ]
}

/** Through a table, or a view of one, whose primary key has foreign keys to both. */
function across(catalog: StageCatalog, here: CatalogRelation): readonly Candidate[] {
  const between = catalog.tables.get(here.table)
  if (!between || here.unique) return []
  return catalog.relations.flatMap((there): readonly Candidate[] => {
    const table = catalog.tables.get(there.foreignTable)
    if (!table || there.table !== between.name || there.name === here.name || there.unique) return []
    if (![...here.columns, ...there.columns].every((column) => between.primaryKey.includes(column))) return []
    const toItself = here.foreignTable === there.foreignTable
    return [
      {
        table,
        toOne: false,
        on: pairs(here.foreignColumns, here.columns),
        through: { table: between, on: pairs(there.columns, there.foreignColumns) },
        computed: null,
        written: `${table.name}!${between.name}`,
        isCalled: (name) => !toItself && name === table.name,
        isHintedBy: (hint) => hint === between.name,
        described: {
          cardinality: 'many-to-many',
          relationship: `${between.name} using ${here.name}(${here.columns.join(', ')}) and ${there.name}(${there.columns.join(', ')})`,
        },
      },
    ]
  })
}

const pointsAt = (hint: string, key: CatalogRelation): boolean =>
  hint === key.name || key.columns.includes(hint) || (key.foreignColumns.length === 1 && key.foreignColumns[0] === hint)
