import type { CatalogRows } from './blockers.ts'
import { reach, secondStepOf } from './circles.ts'
import { inCreationOrder, type Unordered } from './creation-order.ts'
import type { ObjectKey } from './dependencies.ts'
import { describable, type LineContext } from './line-context.ts'
import type { OrderedLine, SecondStepEntry } from './lines.ts'
import { toObjectLines } from './objects/objects.ts'
import { withColumnsInOrder } from './own-columns.ts'
import { groupBy } from './query.ts'
import type { Steps } from './steps.ts'
import { familiesOf } from './table-families.ts'
import { type TableRow, type TableStructure, toTableStructure, type WholeTable } from './tables.ts'
import { toTypeLines } from './types.ts'

/** A line that is made in its place, and what it is of. */
export interface OrderedStructure {
  readonly key: ObjectKey
  readonly line: OrderedLine
  /**
   * The tables that it is, or is of, or needs, directly or not; a table could do without those that it inherits from. They
   * are only looked for where somebody asks: all that many things need is a lot.
   */
  readonly tables: () => readonly string[]
  /** Of a table: how its rows are read. */
  readonly rows?: Omit<TableStructure, 'line'>
}

/**
 * The lines of types, tables, functions, views and all else that can be described, each after those that it needs. What
 * has to be there before the rows, or could be, comes up to the last table.
 */
export function toOrderedStructures(catalog: CatalogRows, context: LineContext): OrderedStructure[] {
  const { steps, tables } = catalog
  const lines = [...toTypeLines(catalog.types, context), ...toObjectLines(catalog.objects, context)]
  const wholes = describable(withRows(context), 'table', tables)
  const seconds = secondSteps([...lines, ...wholes.map(toEntry)], steps)
  const prefers = preferences(wholes, catalog)
  const ordered = [true, false].flatMap((isEarly) =>
    inCreationOrder(
      [
        ...[...lines, ...seconds].map((each) => ({ ...each, rank: 0 })),
        ...wholes.map((row) => ({ ...toEntry(row), rank: 1 })),
      ]
        .filter(({ key }) => steps.early.has(key) === isEarly)
        .map(({ rank, ...each }) => ({
          ...each,
          name: `${rank} ${each.name}`,
          needs: steps.needs.get(each.key) ?? new Set<ObjectKey>(),
          prefers: prefers(each.key),
        })),
    ),
  )
  const described = new Map(
    describeTables(
      ordered.map(({ key }) => key),
      catalog,
      context,
    ).map((each) => [keyOf(each), each]),
  )
  const tablesNeededBy = neededTables(catalog)
  return ordered.map(({ key, line }) => {
    const needed = (): readonly string[] => tablesNeededBy(key)
    const table = described.get(key)
    if (!table) return { key, line, tables: needed }
    const { line: content, ...rows } = table
    return { key, line: { kind: 'table', content }, tables: needed, rows }
  })
}

function neededTables({ tables, steps }: CatalogRows): (key: ObjectKey) => readonly string[] {
  const names = new Map(tables.map(({ key, name }) => [key, name]))
  const keys = new Map(tables.map(({ key, name }) => [name, key]))
  const needs = new Map(steps.needs)
  for (const { key, line } of tables) {
    const parents = new Set((line.inherits ?? []).map((name) => keys.get(name)))
    needs.set(key, new Set([...(needs.get(key) ?? [])].filter((on) => !parents.has(on))))
  }
  return (key) => [...reach([key, secondStepOf(key)], needs)].flatMap((on) => names.get(on) ?? [])
}

const keyOf = ({ oid }: { readonly oid: string }): ObjectKey => `pg_class:${oid}`

/** A table by what it is ordered by; its columns come once the order is known. */
const toEntry = ({ key, name, line }: TableRow): Unordered<OrderedLine> => ({
  key,
  name,
  line: { kind: 'table', content: { ...line, columns: [] } },
})

function secondSteps(lines: readonly Unordered<OrderedLine>[], steps: Steps): readonly Unordered<SecondStepEntry>[] {
  return lines.flatMap(({ key, name, line: { kind, content } }) => {
    const columns = steps.inTwoSteps.get(key)
    if (!columns || (kind !== 'view' && kind !== 'domain' && kind !== 'table')) return []
    const line: SecondStepEntry = {
      kind: 'secondStep',
      content: { object: kind, name: content.name, ...(columns.length > 0 && { columns: [...columns] }) },
    }
    return [{ key: secondStepOf(key), name, line }]
  })
}

/**
 * What should come first where that is possible: parents by foreign keys; casts, before what has one of their types or
 * calls their function; and, of tables that come to their columns together, all, before what needs one of them.
 */
function preferences(
  tables: readonly TableRow[],
  { constraints, objects, steps }: CatalogRows,
): (key: ObjectKey) => ReadonlySet<ObjectKey> {
  const keys = new Map(tables.map(({ name, key }) => [name, key]))
  const parents = groupBy(constraints, ({ table_oid }) => keyOf({ oid: table_oid }))
  const families = familiesOf(tables.map(({ key, line }) => ({ key, ...line }))).filter(({ length }) => length > 1)
  const familyOf = new Map(families.flatMap((family) => family.map(({ key }) => [key, family] as const)))
  const casts = objects.filter(({ kind }) => kind === 'cast').map(({ key }) => ({ key, all: reach(key, steps.needs) }))
  const castsOf = groupBy(
    casts.flatMap((cast) => [...(steps.needs.get(cast.key) ?? [])].map((on) => ({ on, cast }))),
    ({ on }) => on,
  )
  return (key) => {
    const needs = [...(steps.needs.get(key) ?? [])]
    const ofParents = (parents.get(key) ?? []).map(({ references_table }) => keys.get(references_table ?? '') ?? '')
    const relatives = needs
      .map((on) => familyOf.get(on))
      .filter((family) => family !== familyOf.get(key))
      .flatMap((family = []) => family.map((member) => member.key))
    const ofTypes = needs.flatMap((on) => castsOf.get(on) ?? []).filter(({ cast }) => !cast.all.has(key))
    return new Set([...ofParents.filter(isKey), ...relatives, ...ofTypes.map(({ cast }) => cast.key)])
  }
}

const isKey = (key: ObjectKey | ''): key is ObjectKey => key !== ''

function describeTables(order: readonly ObjectKey[], catalog: CatalogRows, context: LineContext): TableStructure[] {
  const { tables, columns, constraints, sequences } = catalog
  const rows = new Map(tables.map((table) => [table.key, table]))
  const columnsOf = groupBy(columns, ({ table_oid }) => table_oid)
  const constraintsOf = groupBy(constraints, ({ table_oid }) => table_oid)
  const identitiesOf = groupBy(sequences, ({ owner }) => (owner?.isIdentity ? owner.key : ''))
  const toWhole = (table: TableRow): WholeTable => ({
    table,
    columns: columnsOf.get(table.oid) ?? [],
    constraints: constraintsOf.get(table.oid) ?? [],
    identities: new Map((identitiesOf.get(table.key) ?? []).map((row) => [row.owner?.column ?? 0, row])),
  })
  const inOrder = order.flatMap((key) => rows.get(key) ?? [])
  return withColumnsInOrder(
    inOrder.map((table) => toTableStructure(toWhole(table), context)),
    context,
  )
}

/** A table that is left out takes its rows with it, which has to be said. */
function withRows({ blockerOf, leaveOut }: LineContext): LineContext {
  return {
    blockerOf,
    leaveOut: (entry) => leaveOut({ ...entry, detail: `${entry.detail}; its rows are not exported either` }),
  }
}
