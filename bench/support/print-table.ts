/** Prints rows in columns: the first to the left, the others, which are figures, to the right. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  for (const row of [head, widths.map((width) => '-'.repeat(width)), ...rows]) console.log(line(row))
  console.log()
}
