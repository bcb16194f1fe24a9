/** A column of a table, by the OID of the one and the number of the other. */
export interface ColumnOrigin {
  readonly table: string
  readonly number: number
}

/**
 * Reads the rule of a view as PostgreSQL keeps it: nodes in braces, each with its fields; what is in a name and no letter
 * has a backslash before it.
 *
 * @returns by the number of the view's column: the column of a table, or of another view, that it shows as it is.
 * @see https://doxygen.postgresql.org/outfuncs_8c.html
 */
export function readViewRule(rule: string): ReadonlyMap<number, ColumnOrigin> {
  const columns = new Map<number, ColumnOrigin>()
  const nodes: string[] = []
  let entry: Record<string, string> = {}
  for (const [text, node, field = '', value = ''] of rule.matchAll(TOKEN)) {
    if (node !== undefined) {
      nodes.push(node)
      if (isOwnTarget(nodes)) entry = {}
    } else if (text === '}') {
      if (isOwnTarget(nodes)) addColumn(columns, entry)
      nodes.pop()
    } else if (isOwnTarget(nodes)) entry[field] = value
  }
  return columns
}

/** The parts of a rule that matter here. */
const TOKEN = /\\.|\{(\w*)|\}|:(resno|resorigtbl|resorigcol|resjunk) ([^\s}]+)/gs

/** Whether it is a column of the view itself, and not of a query within its query. */
const isOwnTarget = (nodes: readonly string[]): boolean => nodes.length === 2 && nodes[1] === 'TARGETENTRY'

function addColumn(columns: Map<number, ColumnOrigin>, entry: Record<string, string>): void {
  const { resno, resorigtbl = '0', resorigcol, resjunk } = entry
  if (resjunk === 'true' || resorigtbl === '0') return
  columns.set(Number(resno), { table: resorigtbl, number: Number(resorigcol) })
}
