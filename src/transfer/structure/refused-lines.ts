import { createLineCheck } from '../../archive/check-line.ts'
import { createTurns } from '../../lib/give-way.ts'
import type { CatalogRows } from './blockers.ts'
import type { ObjectKey } from './dependencies.ts'
import {
  isSecondStep,
  isTableEntry,
  isTypeLine,
  type ObjectLine,
  type OrderedLine,
  type TableEntry,
  type TypeLine,
} from './lines.ts'
import { objectName, toObjectLine } from './objects/objects.ts'

interface Lines {
  readonly inOrder: readonly { readonly line: OrderedLine }[]
}

/** How long others wait for a turn, in milliseconds. */
const TURN_MS = 5

/**
 * Finds what must not stand in a line, since nobody would read the archive then: a default that calls `set_config`, for
 * one, or a line that is too long.
 *
 * @returns by object, why it must not: a default, a constraint or an index; or the whole table or type, where no such part
 *   of it is to blame.
 */
export async function findRefused(catalog: CatalogRows, { inOrder }: Lines): Promise<Map<ObjectKey, string>> {
  const [check, turn] = [createLineCheck(), createTurns(TURN_MS)]
  const keys = keysByLocation(catalog)
  const refused = new Map<ObjectKey, string>()
  for (const { line } of inOrder) {
    if (isSecondStep(line)) continue
    const others = turn()
    if (others !== undefined) await others
    const name = isTypeOrTable(line) ? line.content.name : objectLocation(line)
    for (const { field, detail } of await check(line.kind, line.content)) {
      const part = field === undefined || !isTypeOrTable(line) ? undefined : partAt(line, field)
      const key = keys.get(location(name, part))
      if (key === undefined) throw new Error(`a line has what the catalogs have not: ${field}`)
      refused.set(
        key,
        `archives can't have it: ${part === undefined ? (field ?? 'its line') : 'its definition'} ${detail}`,
      )
    }
  }
  return refused
}

type Line = TypeLine | TableEntry

const isTypeOrTable = (line: Line | ObjectLine): line is Line => isTableEntry(line) || isTypeLine(line)

const objectLocation = (line: ObjectLine): string => JSON.stringify([line.kind, objectName(line)])

const DEFAULT = 'default'
const defaultOf = (column: string): string => `default of ${column}`
const named = (name: string): string => `named ${name}`

/** @returns which part of its table or type a field of a line is; undefined for what is not by itself, as a type. */
function partAt(line: Line, field: string): string | undefined {
  const [, list = '', index = '', property] = field.split('.')
  if (line.kind === 'domain') {
    if (list === 'default') return DEFAULT
    const check = list === 'checks' ? line.content.checks?.[Number(index)] : undefined
    return check && named(check.name)
  }
  if (line.kind !== 'table') return undefined
  if (list === 'partitionBy' || list === 'partitionOf') return undefined
  const { columns, primaryKey } = line.content
  if (list === 'columns') return property === 'type' ? undefined : defaultOf(columns[Number(index)]?.name ?? '')
  if (list === 'primaryKey') return named(primaryKey?.name ?? '')
  const { unique, checks, foreignKeys, exclusions, indexes } = line.content
  const definitions = { unique, checks, foreignKeys, exclusions, indexes }
  const [, found] = Object.entries(definitions).find(([name]) => name === list) ?? []
  return named(found?.[Number(index)]?.name ?? '')
}

const location = (owner: string, part?: string): string => JSON.stringify([owner, part])

/** The objects of the catalogs by their location in a line. */
function keysByLocation({ types, tables, objects, constraints, columns }: CatalogRows): ReadonlyMap<string, ObjectKey> {
  const names = new Map(tables.map(({ oid, name }) => [oid, name]))
  const ofTable = (oid: string): string => names.get(oid) ?? ''
  const domains = types.filter((row) => row.kind === 'domain')
  return new Map([
    ...[...types, ...tables].map(({ key, name }) => [location(name), key] as const),
    ...objects.map((row) => [location(objectLocation(toObjectLine(row))), row.key] as const),
    ...domains.map(({ name, default_key }) => [location(name, DEFAULT), default_key] as const),
    ...domains.flatMap((domain) =>
      domain.check_keys.map(({ key, name }) => [location(domain.name, named(name)), key] as const),
    ),
    ...columns.flatMap(({ table_oid, name, default_key }) =>
      default_key === null ? [] : [[location(ofTable(table_oid), defaultOf(name)), default_key] as const],
    ),
    ...constraints.map(({ table_oid, name, key }) => [location(ofTable(table_oid), named(name)), key] as const),
  ])
}
