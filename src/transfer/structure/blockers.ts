import type { ColumnRow } from './columns.ts'
import type { ConstraintRow } from './constraints.ts'
import { type Candidates, type Dependency, findBlockers, type ObjectKey, readDescriptions } from './dependencies.ts'
import { HIDDEN, readHiddenTypes } from './hidden-types.ts'
import type { BlockerOf } from './line-context.ts'
import type { AnyObjectRow } from './objects/objects.ts'
import type { Query } from './query.ts'
import type { SequenceRow } from './sequences.ts'
import type { Steps } from './steps.ts'
import type { TableRow } from './tables.ts'
import type { AnyTypeRow } from './types.ts'

export interface CatalogRows {
  readonly types: readonly AnyTypeRow[]
  readonly sequences: readonly SequenceRow[]
  readonly tables: readonly TableRow[]
  readonly objects: readonly AnyObjectRow[]
  readonly constraints: readonly ConstraintRow[]
  readonly columns: readonly ColumnRow[]
  readonly dependencies: readonly Dependency[]
  readonly steps: Steps
}

/**
 * Finds what can't be described, be it for what it is or for what it needs.
 *
 * @param refused what must not stand in lines, with the reason.
 */
export async function readBlockers(
  query: Query,
  catalog: CatalogRows,
  refused: ReadonlyMap<ObjectKey, string>,
): Promise<BlockerOf> {
  const reasons = new Map([...refused, ...ownBlockers(catalog), ...catalog.steps.impossible])
  const needed = findBlockers(toCandidates(catalog, reasons), catalog.dependencies)
  const [descriptions, hidden] = await Promise.all([
    readDescriptions(query, needed.values()),
    readHiddenTypes(query, needed.values()),
  ])
  for (const [key, on] of needed) {
    const description = descriptions.get(on) ?? on
    const isMember = on.startsWith('pg_extension:')
    const missing = hidden.get(on) ?? `needs ${description}, which archives do not describe`
    reasons.set(key, isMember ? `belongs to ${description}` : missing)
  }
  return (key) => reasons.get(key)
}

function ownBlockers({ types, sequences, tables, objects, constraints }: CatalogRows): Map<ObjectKey, string> {
  const hidden = [...types, ...sequences].filter(({ visible }) => !visible)
  const invalid = constraints.filter(({ valid }) => !valid)
  return new Map([
    ...hidden.map(({ key }): [ObjectKey, string] => [key, HIDDEN]),
    ...[...tables, ...objects].flatMap(({ key, blocker }): [ObjectKey, string][] => (blocker ? [[key, blocker]] : [])),
    ...invalid.map(({ key }): [ObjectKey, string] => [key, 'it is not valid: PostgreSQL did not finish building it']),
  ])
}

function toCandidates(catalog: CatalogRows, reasons: ReadonlyMap<ObjectKey, string>): Candidates {
  const { types, sequences, tables, objects, constraints, columns } = catalog
  const keysOf = (rows: readonly { readonly key: ObjectKey }[]): ObjectKey[] => rows.map(({ key }) => key)
  const domains = types.filter((row) => row.kind === 'domain')
  const ownSequences = keysOf(sequences.filter(({ owner }) => !owner?.isIdentity))
  const all = [
    ...keysOf([...types, ...tables, ...objects, ...constraints]),
    ...ownSequences,
    ...columns.flatMap(({ default_key }) => default_key ?? []),
    ...domains.flatMap((row) => [row.default_key, ...keysOf(row.check_keys)]),
  ]
  return { sequences: new Set(ownSequences), all: new Set(all.filter((key) => !reasons.has(key))) }
}
