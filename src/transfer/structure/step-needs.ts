import type { Divisible } from './circles.ts'
import type { ColumnRow } from './columns.ts'
import type { ConstraintRow } from './constraints.ts'
import { type Dependency, type Needs, neededBy, type ObjectKey, wholes } from './dependencies.ts'
import { type AnyObjectRow, breakableViews } from './objects/objects.ts'
import { groupBy } from './query.ts'
import type { TableRow } from './tables.ts'
import type { AnyTypeRow } from './types.ts'

/** What the catalogs have of a stage that is made in an order. */
export interface StepRows {
  readonly types: readonly AnyTypeRow[]
  readonly tables: readonly TableRow[]
  readonly objects: readonly AnyObjectRow[]
  readonly constraints: readonly ConstraintRow[]
  readonly columns: readonly ColumnRow[]
  readonly dependencies: readonly Dependency[]
  /** PostgreSQL's major version. */
  readonly version: number
}

/** A generated column, with what its expression needs beside the table's other columns. */
export interface GeneratedColumn {
  readonly key: ObjectKey
  readonly name: string
  readonly needs: readonly ObjectKey[]
  /** Whether it writes down a row of its table, with all columns that the table has now. */
  readonly writesRow: boolean
}

export interface StepNeeds {
  /** What each thing needs to be made at once: other things, and primary keys. */
  readonly needs: Needs
  readonly primaryKeys: ReadonlySet<ObjectKey>
  readonly views: readonly Divisible[]
  readonly domains: readonly Divisible[]
  readonly tables: readonly Divisible[]
  /** By the key of the table. */
  readonly generated: ReadonlyMap<ObjectKey, readonly GeneratedColumn[]>
}

/** Tells what types, functions, tables, views and all else need, whole or for a first step. */
export function readStepNeeds(rows: StepRows): StepNeeds {
  const { types, tables, objects, constraints, dependencies } = rows
  const generated = generatedColumns(rows)
  const expressions = new Set([...generated.values()].flatMap((list) => list.map(({ key }) => key)))
  // To PostgreSQL, what generates a column is a part of the table.
  const needs = neededBy(dependencies.filter(({ object }) => !expressions.has(object)))
  const of = (key: ObjectKey): readonly ObjectKey[] => [...(needs.get(key) ?? [])]
  const primaryKeys = new Set(constraints.filter(({ kind }) => kind === 'primary key').map(({ key }) => key))
  const keys = [...types, ...tables, ...objects].map(({ key }) => key)
  const known = new Set([...keys, ...primaryKeys])
  const domains = types.filter((row) => row.kind === 'domain')
  const partsOf = new Map<ObjectKey, readonly ObjectKey[]>([
    ...domains.map(({ key, default_key, check_keys }) => {
      const parts = [default_key, ...check_keys.map((check) => check.key)].flatMap(of)
      return [key, parts.filter((on) => on !== key)] as const
    }),
    ...[...generated].map(([key, columns]) => [key, columns.flatMap((column) => column.needs)] as const),
  ])
  const onlyKnown = (list: readonly ObjectKey[]): ReadonlySet<ObjectKey> => new Set(list.filter((on) => known.has(on)))
  const columnsOf = columnNeeds(dependencies)
  return {
    needs: new Map(keys.map((key) => [key, onlyKnown([...of(key), ...(partsOf.get(key) ?? [])])])),
    primaryKeys,
    generated,
    views: breakableViews(objects).map((key) => ({ key, first: () => onlyKnown(columnsOf.get(key) ?? []) })),
    domains: domains.map(({ key }) => ({ key, first: () => onlyKnown(of(key)) })),
    tables: [...generated].map(([key, columns]) => ({
      key,
      first: (isInCircle) => {
        const others = columns.filter((column) => !column.needs.some(isInCircle))
        return onlyKnown([...of(key), ...others.flatMap((column) => column.needs)])
      },
    })),
  }
}

/** What relations need by themselves: views for their columns, without their queries. */
function columnNeeds(dependencies: readonly Dependency[]): ReadonlyMap<ObjectKey, readonly ObjectKey[]> {
  const whole = wholes(dependencies)
  const needs = groupBy(dependencies, ({ object }) => object)
  return new Map([...needs].map(([key, list]) => [key, list.map(({ on }) => whole(on)).filter((on) => on !== key)]))
}

/** As PostgreSQL prints it. `NULL` has no columns. */
const ROW_OR_CONSTANT = /\bROW\(|'\(.*\)'::/s

function generatedColumns({ columns, dependencies }: StepRows): ReadonlyMap<ObjectKey, readonly GeneratedColumn[]> {
  const whole = wholes(dependencies)
  const needs = groupBy(dependencies, ({ object }) => object)
  const found = columns.flatMap(({ table_oid, name, line, default_key: key }) => {
    if (line.generated === undefined || key === null) return []
    const table: ObjectKey = `pg_class:${table_oid}`
    const on = (needs.get(key) ?? []).map((dependency) => dependency.on)
    // The table's other columns are there with it; its row type is there when the table is.
    const isElsewhere = (part: ObjectKey): boolean => whole(part) !== table || part.startsWith('pg_type:')
    const needed = on.filter(isElsewhere).map(whole)
    const writesRow = needed.includes(table) && ROW_OR_CONSTANT.test(line.generated)
    return [{ table, key, name, needs: needed, writesRow }]
  })
  return groupBy(found, ({ table }) => table)
}
