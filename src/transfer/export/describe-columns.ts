import type { NotExported } from '../structure/lines.ts'

interface NamedColumn {
  readonly table: string
  readonly column: string
}

/**
 * Names the columns of tables that hold something which is not exported.
 *
 * @param columns those that may hold it. @param tables those that are exported; no others are looked at.
 * @param describe looks at a column; undefined where there is nothing to name.
 */
export async function describeColumns<Column extends NamedColumn>(
  columns: readonly Column[],
  tables: readonly string[],
  describe: (column: Column) => Promise<Omit<NotExported, 'name'> | undefined>,
): Promise<NotExported[]> {
  const exported = new Set(tables)
  const found: NotExported[] = []
  for (const column of columns) {
    if (!exported.has(column.table)) continue
    const described = await describe(column)
    if (described) found.push({ ...described, name: `${column.table}.${column.column}` })
  }
  return found
}
