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
  let depth = 0
  let target = false
  /** Where the fields of the node that is open begin to have no more nodes within them. */
  let from = 0
  // A rule can have megabytes, most of which are of no interest here: a pattern would take ten times as long.
  for (let at = 0; at < rule.length; at += 1) {
    const code = rule.charCodeAt(at)
    if (code === BACKSLASH) at += 1
    else if (code === OPENING) {
      depth += 1
      if (depth === TARGET_DEPTH) target = rule.startsWith('TARGETENTRY', at + 1)
    } else if (code === CLOSING) {
      if (depth === TARGET_DEPTH && target) addColumn(columns, rule.slice(from, at))
      depth -= 1
      from = at + 1
    }
  }
  return columns
}

const [BACKSLASH, OPENING, CLOSING] = [0x5c, 0x7b, 0x7d]

/** The columns of the view itself, and not of a query within its query, are in the node of that query. */
const TARGET_DEPTH = 2

const ORIGIN = /:resno (\d+) .*:resorigtbl (\d+) :resorigcol (\d+) :resjunk false/s

function addColumn(columns: Map<number, ColumnOrigin>, fields: string): void {
  const [, number, table, column] = ORIGIN.exec(fields) ?? []
  if (table === undefined || table === '0') return
  columns.set(Number(number), { table, number: Number(column) })
}
