import type { LineContent } from './lines.ts'

type Rows = LineContent<'rows'>

/** The most sections with rows that are read: where each begins is kept, so that faults can be told by their lines. */
export const MAX_PARTS = 2_000_000

/** Whether a section begins the rows of its table, and does not go on with them. */
export const isFirstPart = ({ part = 1 }: Rows): boolean => part === 1

/** Whether a section ends the rows of its table. One without a number is the only one. */
export const isLastPart = ({
  part,
  last = false,
}: {
  readonly part?: number | undefined
  readonly last?: boolean | undefined
}): boolean => part === undefined || last

/**
 * @param before the section before it, where that was not the last one of its table.
 * @returns why a section with rows cannot stand there; undefined where it can.
 */
export function partFault({ table, columns, part }: Rows, before: Rows | undefined): string | undefined {
  if (before && table !== before.table) {
    return `table "${table}" has its rows where the next part of table "${before.table}" has to be`
  }
  const due = (before?.part ?? 0) + 1
  if (before && part === undefined) return `table "${table}" has rows without "part" where part ${due} has to be`
  if ((part ?? 1) !== due) return `table "${table}" has its part ${part} where part ${due} has to be`
  if (!before) return undefined
  const isSame = columns.length === before.columns.length && columns.every((name, at) => name === before.columns[at])
  return isSame ? undefined : `part ${part} of table "${table}" has other columns than the part before it`
}
