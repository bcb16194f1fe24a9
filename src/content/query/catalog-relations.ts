import type { CatalogRelation } from './catalog.ts'
import { type ColumnOrigin, readViewRule } from './view-rule.ts'

/** A foreign key, with tables by their OIDs and columns by their numbers, too. */
export interface KeyRow {
  readonly name: string
  readonly table: string
  readonly numbers: readonly number[]
  readonly columns: readonly string[]
  readonly foreignTable: string
  readonly foreignNumbers: readonly number[]
  readonly foreignColumns: readonly string[]
  /** Whether its columns are those of a primary or unique key. */
  readonly unique: boolean
}

export interface PrimaryKeyRow {
  readonly table: string
  readonly numbers: readonly number[]
}

export interface ViewRow {
  readonly oid: string
  readonly rule: string
}

interface Read {
  readonly tables: readonly {
    readonly oid: string
    readonly name: string
    readonly columns: readonly { readonly name: string; readonly number: number }[]
  }[]
  readonly foreignKeys: readonly KeyRow[]
  readonly primaryKeys: readonly PrimaryKeyRow[]
  readonly views: readonly ViewRow[]
}

export interface FoundRelations {
  readonly relations: readonly (CatalogRelation & { readonly ofTables: boolean })[]
  /** By the OIDs of views: the columns that show the primary keys of their tables. */
  readonly viewKeys: ReadonlyMap<string, readonly string[]>
}

/**
 * Finds the relations of a stage: its foreign keys, and for each the views that show its columns in the place of the
 * table that refers, of the one referred to, or of both.
 *
 * @see https://docs.postgrest.org/en/stable/references/api/resource_embedding.html#foreign-key-joins-on-views
 */
export function relationsOf({ tables, foreignKeys, primaryKeys, views }: Read): FoundRelations {
  const rules = new Map(views.map(({ oid, rule }) => [oid, readViewRule(rule)]))
  const shown = tables.filter(({ oid }) => rules.has(oid)).map((view) => ({ view, showing: showingOf(view, rules) }))
  const names = new Map(tables.map(({ oid, name }) => [oid, name]))
  const byShown = new Map<string, (typeof shown)[number][]>()
  for (const each of shown) for (const key of each.showing.keys()) byShown.set(key, [...(byShown.get(key) ?? []), each])

  /** The table itself, and the views that show all these columns of it: each name with the columns there. */
  const endsOf = (table: string, numbers: readonly number[], columns: readonly string[]): RelationEnd[] => {
    const name = names.get(table)
    const own = name === undefined ? [] : [{ name, columns, isTable: true }]
    // A view that shows all of a key's columns shows the first.
    const inViews = (byShown.get(`${table} ${numbers[0]}`) ?? []).flatMap(({ view, showing }) =>
      combinations(numbers.map((number) => showing.get(`${table} ${number}`) ?? [])).map((each) => ({
        name: view.name,
        columns: each,
        isTable: false,
      })),
    )
    return [...own, ...inViews]
  }

  const relations = foreignKeys.flatMap((key) => {
    const far = endsOf(key.foreignTable, key.foreignNumbers, key.foreignColumns)
    return endsOf(key.table, key.numbers, key.columns).flatMap((near) =>
      far.map(({ name: foreignTable, columns: foreignColumns, isTable }) => ({
        ...{
          name: key.name,
          table: near.name,
          columns: near.columns,
          foreignTable,
          foreignColumns,
          unique: key.unique,
        },
        ofTables: near.isTable && isTable,
      })),
    )
  })
  const viewKeys = shown.map(({ view, showing }): [string, readonly string[]] => [
    view.oid,
    inOrderOf(
      view,
      primaryKeys.flatMap(
        ({ table, numbers }) => combinations(numbers.map((number) => showing.get(`${table} ${number}`) ?? []))[0] ?? [],
      ),
    ),
  ])
  return { relations, viewKeys: new Map(viewKeys) }
}

/** Columns of a view as it has them. */
const inOrderOf = ({ columns }: Read['tables'][number], names: readonly string[]): readonly string[] =>
  columns.flatMap(({ name }) => (names.includes(name) ? [name] : []))

interface RelationEnd {
  readonly name: string
  readonly columns: readonly string[]
  readonly isTable: boolean
}

/** What a view shows: the names of its columns by the table and number of what each shows, through other views as well. */
function showingOf(
  view: Read['tables'][number],
  rules: ReadonlyMap<string, ReadonlyMap<number, ColumnOrigin>>,
): ReadonlyMap<string, string[]> {
  const showing = new Map<string, string[]>()
  const follow = (column: string, from: string, number: number, passed: readonly string[]): void => {
    const origin = rules.get(from)?.get(number)
    if (!origin || passed.includes(origin.table)) return
    const key = `${origin.table} ${origin.number}`
    showing.set(key, [...(showing.get(key) ?? []), column])
    follow(column, origin.table, origin.number, [...passed, origin.table])
  }
  for (const { name, number } of view.columns) follow(name, view.oid, number, [view.oid])
  return showing
}

/** More ways than that to see one foreign key in one view are of no use to anybody. */
const MAX_COMBINATIONS = 32

/** The ways to take one of each list; none where a list is empty, nor where there is no list. */
function combinations(lists: readonly (readonly string[])[]): readonly (readonly string[])[] {
  if (lists.length === 0) return []
  return lists.reduce<readonly (readonly string[])[]>(
    (taken, list) => taken.flatMap((some) => list.map((one) => [...some, one])).slice(0, MAX_COMBINATIONS),
    [[]],
  )
}
