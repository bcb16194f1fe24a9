import type { ComponentChildren, Key } from 'preact'
import { Scrolling } from './scrolling.tsx'

interface Title {
  readonly title: string
  /** Whether its values stand at its end, digit below digit. */
  readonly isNumber?: boolean
  /** Whether the title is for screen readers alone: of buttons, which say what they do. */
  readonly isSpoken?: boolean
}

export interface Column<Row> extends Title {
  readonly draw: (row: Row) => ComponentChildren
  /** Of the cell, for its colour. */
  readonly classOf?: (row: Row) => string
}

interface TableProps<Row> {
  readonly label: string
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => Key
  readonly isQuiet?: (row: Row) => boolean
}

/** Rows of values. On a phone, which is narrower than they are, each row is a list of its values, with their titles. */
export const Table = <Row,>({ label, columns, rows, keyOf, isQuiet }: TableProps<Row>) => (
  <TableFrame label={label} titles={columns}>
    {rows.map((row) => (
      <tr key={keyOf(row)} class={isQuiet?.(row) ? 'quiet' : ''}>
        {columns.map((column, index) => (
          <Cell key={column.title} title={column} isHead={index === 0} class={column.classOf?.(row)}>
            {column.draw(row)}
          </Cell>
        ))}
      </tr>
    ))}
  </TableFrame>
)

interface FrameProps {
  readonly label: string
  readonly titles: readonly Title[]
  readonly children: ComponentChildren
}

/** What is around rows of `Cell`. */
export const TableFrame = ({ label, titles, children }: FrameProps) => (
  <Scrolling label={label}>
    <table class="stacks">
      <thead>
        <tr>
          {titles.map(({ title, isNumber, isSpoken }) => (
            <th key={title} scope="col" class={isNumber ? 'number' : ''}>
              {isSpoken ? <span class="spoken">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </Scrolling>
)

interface CellProps {
  readonly title: Title
  /** Whether it names its row. */
  readonly isHead?: boolean
  readonly class?: string | undefined
  readonly children: ComponentChildren
}

export function Cell({ title: { title, isNumber, isSpoken }, isHead = false, class: also = '', children }: CellProps) {
  const classes = isNumber ? `number ${also}` : also
  if (isHead) {
    return (
      <th scope="row" class={classes} data-title={isNumber ? title : undefined}>
        {children}
      </th>
    )
  }
  return (
    <td class={classes} data-title={isSpoken ? undefined : title}>
      <div>{children}</div>
    </td>
  )
}
