import { type Connection, pathOf } from './connection.ts'

/** Rows as the service has them now. */
export interface Read<Row> {
  readonly rows: readonly Row[]
  /** The latest event of the stage: what the service compares with the next time. */
  readonly reference: string
  /** Whether they may be others than the last time; the service sent none where not. */
  readonly hasChanged: boolean
}

/** Rows of one query, read again and again: while nothing has changed in the stage, the service answers 304. */
export interface RowReader<Row> {
  /** @throws {WharfError} */
  readonly read: (options?: { readonly signal?: AbortSignal }) => Promise<Read<Row>>
}

/** Where rows are. */
export interface TableAddress {
  readonly project: string
  readonly stage: string
  readonly table: string
}

/** In PostgREST's dialect, see docs/content.md: `{ select: 'title', year: 'gte.1990', order: 'title' }`. */
export type RowQuery = Readonly<Record<string, string | readonly string[]>>

export interface Rows {
  /**
   * A reader of rows, which keeps the last rows and their reference.
   *
   * @typeParam Row what a row is: nothing checks that.
   */
  readonly rows: <Row = Readonly<Record<string, unknown>>>(address: TableAddress, query?: RowQuery) => RowReader<Row>
}

export function createRows(connection: Connection): Rows {
  return {
    rows<Row>({ project, stage, table }: TableAddress, query: RowQuery = {}): RowReader<Row> {
      const search = new URLSearchParams()
      for (const [name, values] of Object.entries(query))
        for (const value of [values].flat()) search.append(name, value)
      const path = `${pathOf`/content/${project}/${stage}/${table}`}?${search}`
      let last: Omit<Read<Row>, 'hasChanged'> | undefined
      return {
        async read({ signal } = {}) {
          const before = last
          const headers = { accept: 'application/json', 'x-service-ref': before?.reference }
          const answer = await connection.send(path, { headers, signal })
          if (answer.status === 304 && before) return { ...before, hasChanged: false }
          const reference = answer.headers.get('x-service-ref') ?? ''
          const rows = (await answer.json()) as readonly Row[]
          last = { rows, reference }
          return { ...last, hasChanged: true }
        },
      }
    },
  }
}
