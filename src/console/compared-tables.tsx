import { Scrolling } from './scrolling.tsx'
import { shown, toCount } from './words.tsx'

/** The rows of a table, now and after something. */
interface Compared {
  readonly name: string
  /** null where there is no such table. */
  readonly rowsNow: number | null
  readonly rowsAfter: number | null
}

interface TablesProps {
  /** Of what they are. */
  readonly label: string
  readonly tables: readonly Compared[]
  /** What the rows afterwards are called. */
  readonly after: string
}

/** Tables with their rows now and afterwards; those that would change stand out. */
export const ComparedTables = ({ label, tables, after }: TablesProps) => (
  <Scrolling label={label}>
    <table class="compared">
      <thead>
        <tr>
          <th scope="col">Table</th>
          <th scope="col" class="number">
            Rows now
          </th>
          <th scope="col" class="number">
            {after}
          </th>
          <th scope="col" class="number">
            Difference
          </th>
        </tr>
      </thead>
      <tbody>
        {tables.map(({ name, rowsNow, rowsAfter }) => (
          <tr key={name} class={rowsNow === rowsAfter ? 'quiet' : ''}>
            <th scope="row">{shown(name)}</th>
            <td class="number">{rowsNow === null ? 'none yet' : toCount(rowsNow)}</td>
            <td class="number">{rowsAfter === null ? 'no table' : toCount(rowsAfter)}</td>
            <td class="number">{withSign((rowsAfter ?? 0) - (rowsNow ?? 0))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolling>
)

const withSign = (count: number): string => (count > 0 ? `+${toCount(count)}` : toCount(count))
