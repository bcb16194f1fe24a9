/** What a value of a row is: numbers are as they were written, since a `number` holds fewer digits than PostgreSQL's types. */
export type Cell = string | boolean | null | ExactNumber | readonly Cell[] | { readonly [name: string]: Cell }

/** A number, digit by digit. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** As browsers have it since 2024, and TypeScript does not know it yet. */
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Parses JSON, and keeps all digits of its numbers. */
export function parseExactly(text: string): unknown {
  const keep: Reviver = (_key, value, context) =>
    typeof value === 'number' ? new ExactNumber(context?.source ?? String(value)) : value
  return JSON.parse(text, keep)
}

/** A value as people read it: texts without quotes, everything else as JSON. */
export function toText(cell: Cell): string {
  if (typeof cell === 'string') return cell
  return toJson(cell)
}

function toJson(cell: Cell): string {
  if (cell instanceof ExactNumber) return cell.text
  if (isList(cell)) return `[${cell.map(toJson).join(', ')}]`
  if (typeof cell === 'object' && cell !== null) {
    return `{${Object.entries(cell)
      .map(([name, value]) => `${JSON.stringify(name)}: ${toJson(value)}`)
      .join(', ')}}`
  }
  return JSON.stringify(cell)
}

const isList = (cell: Cell): cell is readonly Cell[] => Array.isArray(cell)
