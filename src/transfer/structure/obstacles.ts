import { type Candidates, type Dependency, findObstacles, type ObjectKey, readDescriptions } from './dependencies.ts'
import type { Query } from './query.ts'
import type { ColumnRow } from './read-columns.ts'
import type { SequenceWithValue } from './read-sequences.ts'
import type { TableRows } from './read-tables.ts'
import type { TypeRows } from './read-types.ts'

/** Why an object can't be described, for people; undefined where it can. */
export type ObstacleOf = (key: ObjectKey) => string | undefined

export interface CatalogRows {
  readonly types: TypeRows
  readonly sequences: readonly SequenceWithValue[]
  readonly tables: TableRows
  readonly columns: readonly ColumnRow[]
  readonly dependencies: readonly Dependency[]
}

/**
 * Finds what can't be described, be it for what it is or for what it needs.
 *
 * @param refused what must not stand in lines, with the reason.
 */
export async function readObstacles(
  query: Query,
  catalog: CatalogRows,
  refused: ReadonlyMap<ObjectKey, string>,
): Promise<ObstacleOf> {
  const reasons = new Map([...refused, ...ownObstacles(catalog)])
  const needed = findObstacles(toCandidates(catalog, reasons), catalog.dependencies)
  const descriptions = await readDescriptions(query, needed.values())
  for (const [key, on] of needed) {
    const description = descriptions.get(on) ?? on
    const isMember = on.startsWith('pg_extension:')
    reasons.set(key, isMember ? `belongs to ${description}` : `needs ${description}, which archives do not describe`)
  }
  return (key) => reasons.get(key)
}

const HIDDEN = 'a built-in object of the same name hides it'

function ownObstacles({ types, sequences, tables }: CatalogRows): Map<ObjectKey, string> {
  const hidden = [...allTypes(types), ...sequences].filter(({ visible }) => !visible)
  const invalid = tables.indexes.filter(({ valid }) => !valid)
  return new Map([
    ...hidden.map(({ key }): [ObjectKey, string] => [key, HIDDEN]),
    ...tables.tables.flatMap(({ key, obstacle }): [ObjectKey, string][] => (obstacle ? [[key, obstacle]] : [])),
    ...invalid.map(({ key }): [ObjectKey, string] => [key, 'it is not valid: PostgreSQL did not finish building it']),
  ])
}

function toCandidates(catalog: CatalogRows, reasons: ReadonlyMap<ObjectKey, string>): Candidates {
  const { types, sequences, tables, columns } = catalog
  const keysOf = (rows: readonly { readonly key: ObjectKey }[]): Set<ObjectKey> =>
    new Set(rows.map(({ key }) => key).filter((key) => !reasons.has(key)))
  return {
    types: keysOf(allTypes(types)),
    sequences: keysOf(sequences.filter(({ of_identity }) => !of_identity)),
    tables: keysOf(tables.tables),
    tableParts: new Set([
      ...keysOf([...tables.constraints, ...tables.indexes]),
      ...columns.flatMap(({ default_key }) => default_key ?? []),
    ]),
    typeParts: new Set(
      types.domains.flatMap(({ default_key, checks }) => [default_key, ...checks.map(({ key }) => key)]),
    ),
  }
}

const allTypes = ({ enums, domains, composites, ranges }: TypeRows) => [...enums, ...domains, ...composites, ...ranges]
