import { archiveFault } from '../../archive/archive-invalid.ts'
import type { ColumnLine, TableLine } from './lines.ts'

/**
 * How tables come to their columns where some inherit from others.
 *
 * The order of columns tells how a table came to be: `CREATE TABLE … INHERITS` puts those of the parents first, and
 * `ALTER TABLE … ADD COLUMN` on a parent puts one behind all columns that its children have by then. A table whose
 * columns are all its own can be made by itself, and inherit afterwards, whatever their order.
 */
export interface ColumnPlan {
  /** Of each table, in order, those that `CREATE TABLE` names. */
  readonly created: ReadonlyMap<string, readonly ColumnLine[]>
  /** What `ALTER TABLE … ADD COLUMN` adds then, in order. */
  readonly added: readonly { readonly table: string; readonly column: ColumnLine }[]
  /** Tables that inherit afterwards. */
  readonly linked: ReadonlySet<string>
}

/** So many columns are looked at: all others wait for this. No structure that somebody made needs as many looks. */
const MAX_LOOKS = 3_000_000

/** At most so many columns of tables and of their parents, counted for each child. */
const MAX_COLUMNS = 1_000_000

/** @throws {AppError} ARCHIVE_INVALID where no order of statements gives the tables their columns in these orders. */
export function planColumns(tables: readonly TableLine[]): ColumnPlan {
  const plan = findColumnPlan(tables)
  if (plan) return plan
  throw archiveFault('the columns of tables that inherit from others stand in an order in which nothing can make them')
}

/** @param tables parents before their children. @returns undefined where nothing gives them their columns in these orders. */
export function findColumnPlan(tables: readonly TableLine[]): ColumnPlan | undefined {
  if (countColumns(tables) > MAX_COLUMNS) return undefined
  const family = createFamily(tables)
  const late = findLateColumns(family)
  return late && addInOrder(family, late)
}

function countColumns(tables: readonly TableLine[]): number {
  const counts = new Map(tables.map(({ name, columns }) => [name, columns.length]))
  return tables.reduce(
    (sum, { columns, inherits = [] }) =>
      inherits.reduce((inner, parent) => inner + (counts.get(parent) ?? 0), sum + columns.length),
    0,
  )
}

interface Member {
  readonly line: TableLine
  readonly parents: readonly Member[]
  /** Those that are created as children. */
  readonly children: Member[]
  /** Whether it is made by itself, and inherits afterwards. */
  readonly isLinked: boolean
  readonly columns: ReadonlyMap<string, ColumnLine>
  /** Of the columns, in their order. */
  readonly names: readonly string[]
  /** Where each column stands among them. */
  readonly positions: ReadonlyMap<string, number>
}

function createFamily(tables: readonly TableLine[]): readonly Member[] {
  const members = new Map<string, Member>()
  for (const line of tables) {
    const parents = (line.inherits ?? []).flatMap((name) => members.get(name) ?? [])
    const columns = new Map(line.columns.map((column) => [column.name, column]))
    const names = [...columns.keys()]
    const isAllItsOwn = !line.columns.some(({ inherited }) => inherited)
    const isMerged = [...mergedNames(parents)].every((name, at) => names[at] === name)
    const positions = new Map(names.map((name, position) => [name, position]))
    const isLinked = parents.length > 0 && isAllItsOwn && !isMerged
    const member = { line, parents, children: [], isLinked, columns, names, positions }
    members.set(line.name, member)
    if (!member.isLinked) for (const parent of parents) parent.children.push(member)
  }
  return [...members.values()]
}

/** The names of the columns that a child is created with, in their order. */
function mergedNames(parents: readonly Member[], late?: LateColumns): ReadonlySet<string> {
  return new Set(parents.flatMap((parent) => parent.names.filter((name) => !late?.get(parent)?.has(name))))
}

/** Columns that their tables are created without. */
type LateColumns = ReadonlyMap<Member, Set<string>>

/** @returns undefined where that takes too long. */
function findLateColumns(family: readonly Member[]): LateColumns | undefined {
  const late = new Map(family.map((member) => [member, new Set<string>()]))
  let found = false
  const add = (member: Member, name: string): void => {
    const names = late.get(member)
    const column = member.columns.get(name)
    if (!column || !names || names.has(name)) return
    names.add(name)
    found = true
    if (column.inherited) for (const parent of member.parents) add(parent, name)
  }
  const relatives = family.filter(({ parents, children }) => parents.length > 0 || children.length > 0)
  const looks = countColumns(relatives.map(({ line }) => line))
  for (let left = Math.max(MAX_LOOKS, 8 * looks); left > 0; left -= looks + 1) {
    found = false
    for (const member of relatives) settle(member, late, add)
    if (!found) return late
  }
  return undefined
}

/** Finds columns of one table that come late, since others do. */
function settle(member: Member, late: LateColumns, add: (member: Member, name: string) => void): void {
  const { parents, columns, names, isLinked } = member
  const merged = isLinked ? new Set<string>() : mergedNames(parents, late)
  for (const [name, { inherited }] of columns) if (inherited && !merged.has(name)) add(member, name)
  const isLate = (name: string): boolean => late.get(member)?.has(name) === true
  const first = names.findIndex(isLate)
  if (first >= 0) for (const name of names.slice(first)) add(member, name)

  const early = names.filter((name) => !isLate(name))
  const made = [...merged, ...early.filter((name) => !merged.has(name))]
  const wrong = made.find((name, at) => early[at] !== name)
  if (wrong !== undefined) for (const parent of parents) add(parent, wrong)
}

/** Adds late columns one by one, each where it is the next in its table and in all that get it, too. */
function addInOrder(family: readonly Member[], late: LateColumns): ColumnPlan | undefined {
  // What a table has at any time are the first of its columns.
  const early = new Map(family.map((member) => [member, member.columns.size - (late.get(member)?.size ?? 0)]))
  const has = new Map(early)
  const next = (member: Member): string | undefined => member.names[has.get(member) ?? 0]
  const added: { table: string; column: ColumnLine }[] = []
  for (let left = MAX_LOOKS; left > 0; ) {
    const before = added.length
    for (const member of family) {
      if (left < 0) break
      for (let name = next(member); name !== undefined; name = next(member)) {
        const column = member.columns.get(name)
        const takers = takersOf(member, name, has)
        left -= takers.length + 1
        const isNext = takers.every((taker) => next(taker) === name && taker.columns.get(name)?.inherited)
        // PostgreSQL adds no identity column to a table that has children.
        if (!column || column.inherited || !isNext || (column.identity && member.children.length > 0)) break
        for (const each of [member, ...takers]) has.set(each, (has.get(each) ?? 0) + 1)
        added.push({ table: member.line.name, column })
      }
    }
    if (added.length === before) break
  }
  if (family.some((member) => next(member) !== undefined)) return undefined
  return {
    created: new Map(family.map((member) => [member.line.name, ownColumns(member, early.get(member))])),
    added,
    linked: new Set(family.filter(({ isLinked }) => isLinked).map(({ line }) => line.name)),
  }
}

/** The tables that get a column with another, since they are its children and have none of that name. */
function takersOf(member: Member, name: string, has: ReadonlyMap<Member, number>): readonly Member[] {
  const takers = new Set<Member>()
  const pending = [...member.children]
  for (let child = pending.pop(); child; child = pending.pop()) {
    if (takers.has(child) || (child.positions.get(name) ?? -1) < (has.get(child) ?? 0)) continue
    takers.add(child)
    pending.push(...child.children)
  }
  return [...takers]
}

const ownColumns = ({ line: { columns } }: Member, early?: number): readonly ColumnLine[] =>
  columns.slice(0, early).filter(({ inherited }) => !inherited)
