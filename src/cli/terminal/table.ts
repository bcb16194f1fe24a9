import pc from 'picocolors'
import { printable } from './printable.ts'

/** Text in columns, a heading above each; as wide as it has to be, without lines around it. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { colors }: { readonly colors: boolean },
): string {
  const { bold } = pc.createColors(colors)
  const cells = [headings, ...rows].map((row) => row.map(printable))
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))))
  const lines = cells.map((row) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return lines.map((line, index) => (index === 0 ? bold(line) : line)).join('\n')
}

/** Fields of one thing, a name before each; those without a value are left out. */
export function formatFields(fields: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = fields.flatMap(([name, value]) => (value === undefined ? [] : [{ name: printable(name), value }]))
  const width = Math.max(...present.map(({ name }) => widthOf(name)))
  return present.map(({ name, value }) => `  ${pad(name, width)}  ${printable(value)}`).join('\n')
}

const widthOf = (text: string): number => [...text].length

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))
