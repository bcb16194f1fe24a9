import { useState } from 'preact/hooks'
import type { Client } from './client.ts'
import { type Cell, toText } from './exact-json.ts'
import { Failure } from './failure.tsx'
import { Scrolling } from './scrolling.tsx'
import { shown } from './shown.ts'
import type { Overview, TableOverview } from './types.ts'
import { useLive } from './use-live.ts'
import { toCount } from './words.tsx'

/** So many rows are shown at a time. */
const ROWS = 50

const OPERATORS = [
  ['eq', 'is'],
  ['neq', 'is not'],
  ['gt', 'is greater than'],
  ['lt', 'is less than'],
  ['like', 'is like (* for anything)'],
  ['is.null', 'is null'],
] as const

interface Filter {
  readonly column: string
  readonly operator: (typeof OPERATORS)[number][0]
  readonly value: string
}

interface RowsProps {
  readonly client: Client
  readonly project: string
  readonly stage: string
  readonly table: string
}

/** The rows of a table, page by page. */
export function Rows({ client, project, stage, table: name }: RowsProps) {
  const stagePath = `${project}/${stage}`
  const { value: overview, failure } = useLive(
    `table ${stagePath} ${name}`,
    (signal) => client.json<Overview>(`/content/${stagePath}`, { signal }),
    () => undefined,
  )
  const table = overview?.tables.find((each) => each.name === name)
  return (
    <>
      <h1>{shown(name)}</h1>
      <p>
        <a href={`#/data/${stagePath}`}>
          {project}, {stage}
        </a>
      </p>
      <Failure text={failure ?? (overview && !table ? 'There is no such table.' : undefined)} />
      {!overview && !failure && <p role="status">Loading the table …</p>}
      {table && <Pages client={client} path={`/content/${stagePath}/${encodeURIComponent(name)}`} table={table} />}
    </>
  )
}

interface PagesProps {
  readonly client: Client
  readonly path: string
  readonly table: TableOverview
}

function Pages({ client, path, table }: PagesProps) {
  const [offset, setOffset] = useState(0)
  const [filter, setFilter] = useState<Filter>()
  const query = queryOf(table, filter, offset)
  const { value: rows, failure } = useLive(
    `rows ${path} ${query}`,
    (signal) => client.exactJson<readonly Readonly<Record<string, Cell>>[]>(`${path}?${query}`, { signal }),
    () => undefined,
  )
  return (
    <>
      <FilterForm
        columns={table.columns.map(({ name }) => name)}
        onFilter={(chosen) => {
          setOffset(0)
          setFilter(chosen)
        }}
      />
      <Failure text={failure} />
      {!rows && !failure && <p role="status">Loading the rows …</p>}
      {rows && (
        <Scrolling label="Rows" class="values">
          <table>
            <thead>
              <tr>
                {table.columns.map(({ name, type }) => (
                  <th key={name} scope="col" class={isNumber(type) ? 'number' : ''}>
                    <div class="value">{shown(name)}</div>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  {table.columns.map(({ name, type }) => (
                    <Value key={name} cell={row[name] ?? null} isNumber={isNumber(type)} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
      {rows?.length === 0 && <p>There are no rows{offset > 0 && ' any more'}.</p>}
      <p class="actions">
        {offset > 0 && (
          <button type="button" onClick={() => setOffset(offset - ROWS)}>
            Rows before
          </button>
        )}
        {rows?.length === ROWS && (
          <button type="button" onClick={() => setOffset(offset + ROWS)}>
            Next rows
          </button>
        )}
      </p>
    </>
  )
}

/** Stands at the end of its column, so that digits of the same weight are below each other. */
const isNumber = (type: string): boolean =>
  /^(smallint|integer|bigint|real|double precision|numeric\b[^[]*)$/.test(type)

const Value = ({ cell, isNumber }: { readonly cell: Cell; readonly isNumber: boolean }) => (
  <td class={isNumber ? 'number' : ''}>
    {cell === null ? <span class="quiet">null</span> : <Text text={toText(cell)} />}
  </td>
)

/** How much of a text is shown at first: a long one would leave no room for any other row. */
const FIRST = { characters: 300, lines: 6 } as const

const beginningOf = (text: string): string =>
  text.slice(0, FIRST.characters).split('\n').slice(0, FIRST.lines).join('\n')

function Text({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false)
  const beginning = beginningOf(text)
  const isCut = !isWhole && beginning.length < text.length
  return (
    <div class="value">
      {isCut ? `${shown(beginning)}… ` : shown(text)}
      {isCut && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {toCount(text.length)} characters
        </button>
      )}
    </div>
  )
}

function queryOf({ primaryKey }: TableOverview, filter: Filter | undefined, offset: number): string {
  const query = new URLSearchParams({ limit: String(ROWS), offset: String(offset) })
  if (primaryKey.length > 0) query.set('order', primaryKey.map(quoted).join(','))
  if (filter) query.set(filter.column, filter.operator === 'is.null' ? 'is.null' : `${filter.operator}.${filter.value}`)
  return query.toString()
}

/** A column as the dialect of the content endpoint takes any name. */
const quoted = (name: string): string => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

interface FilterProps {
  readonly columns: readonly string[]
  readonly onFilter: (filter: Filter | undefined) => void
}

function FilterForm({ columns, onFilter }: FilterProps) {
  const [column, setColumn] = useState(columns[0] ?? '')
  const [operator, setOperator] = useState<Filter['operator']>('eq')
  const [value, setValue] = useState('')
  return (
    <form
      class="actions"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault()
        onFilter({ column, operator, value })
      }}
    >
      <select aria-label="Column" value={column} onChange={(event) => setColumn(event.currentTarget.value)}>
        {columns.map((name) => (
          <option key={name} value={name}>
            {shown(name)}
          </option>
        ))}
      </select>
      <select
        aria-label="Comparison"
        value={operator}
        onChange={(event) => setOperator(event.currentTarget.value as Filter['operator'])}
      >
        {OPERATORS.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      {operator !== 'is.null' && (
        <input aria-label="Value" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
      )}
      <button type="submit">Filter</button>
      <button type="button" onClick={() => onFilter(undefined)}>
        All rows
      </button>
    </form>
  )
}
