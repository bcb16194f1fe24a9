import { Scrolling } from './scrolling.tsx'
import { shown } from './shown.ts'
import type { TableOverview } from './types.ts'
import { toCount } from './words.tsx'

/** How many rows a table has, as far as that is known; undefined where there is no such table. */
export type RowCount = TableOverview['rows'] | undefined

interface Compared {
  readonly name: string
  readonly before: RowCount
  readonly after: RowCount
}

interface Change {
  readonly name: string
  /** null where there is no such table. */
  readonly rowsNow: number | null
  readonly rowsAfter: number | null
}

/** Tables as they are, and as an import or an undo would leave them. */
export const asCompared = (changes: readonly Change[]): readonly Compared[] =>
  changes.map(({ name, rowsNow, rowsAfter }) => ({ name, before: counted(rowsNow), after: counted(rowsAfter) }))

/** @param count null where there is no such table. */
export const counted = (count: number | null): RowCount => (count === null ? undefined : { count, exact: true })

interface TablesProps {
  /** Of what they are. */
  readonly label: string
  readonly tables: readonly Compared[]
  /** What the rows of `before` and `after` are called. */
  readonly titles: readonly [before: string, after: string]
}

/** Tables with their rows before something and after it; those that differ stand out. */
export const ComparedTables = ({ label, tables, titles }: TablesProps) => (
  <Scrolling label={label}>
    <table class="compared">
      <thead>
        <tr>
          <th scope="col">Table</th>
          {[...titles, 'Difference'].map((title) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {tables.map(({ name, before, after }) => {
          const difference = differenceOf(before, after)
          const isSame = difference === '0' && !before === !after
          return (
            <tr key={name} class={isSame ? 'quiet' : ''}>
              <th scope="row">{shown(name)}</th>
              <td class="number">{inWords(before)}</td>
              <td class="number">{inWords(after)}</td>
              <td class="number">{difference}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </Scrolling>
)

function inWords(rows: RowCount): string {
  if (!rows) return 'no table'
  return rows.count === null ? 'unknown' : `${rows.exact ? '' : 'about '}${toCount(rows.count)}`
}

/** What there is not has no rows. */
const NONE = { count: 0, exact: true } as const

/** `+12`; nothing where one of them is not known. */
function differenceOf(before: RowCount = NONE, after: RowCount = NONE): string {
  if (before.count === null || after.count === null) return ''
  const difference = after.count - before.count
  return `${before.exact && after.exact ? '' : 'about '}${difference > 0 ? '+' : ''}${toCount(difference)}`
}
