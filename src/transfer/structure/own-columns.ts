import { findColumnPlan } from './inheritance.ts'
import type { LineContext } from './line-context.ts'
import type { TableLine } from './lines.ts'
import type { TableStructure } from './tables.ts'

/**
 * Tables whose columns can be made in their order. Where nothing makes them so, since a parent was given columns in another
 * order than a child, the order stays, and the columns of children become their own.
 */
export function withColumnsInOrder(tables: readonly TableStructure[], { leaveOut }: LineContext): TableStructure[] {
  if (findColumnPlan(tables.map(({ line }) => line))) return [...tables]
  return tables.map((table) => {
    if (!table.line.columns.some(({ inherited }) => inherited)) return table
    const detail = 'they become columns of its own: nothing else makes them in their order'
    leaveOut({ kind: 'inherited columns', name: table.line.name, detail })
    return { ...table, line: withOwnColumns(table.line) }
  })
}

/** A table whose columns, with their not-null constraints, are its own, whatever it inherits from. */
export const withOwnColumns = (line: TableLine): TableLine => ({
  ...line,
  columns: line.columns.map(({ inherited, notNull, ...column }) => {
    const { inherited: _, ...constraint } = notNull ?? {}
    return { ...column, ...(Object.keys(constraint).length > 0 && { notNull: constraint }) }
  }),
})
