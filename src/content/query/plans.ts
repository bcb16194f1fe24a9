import type { Fault } from '../../errors.ts'
import type { CatalogFunction, MediaAggregate } from './catalog.ts'

/** One SQL statement; every value that came from outside is among `values`. */
export interface SqlStatement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Query parameters, decoded, in the order in which they came. */
export type QueryParameters = readonly (readonly [name: string, value: string])[]

/**
 * `csv` has a header line; `object` is the first row alone, for callers who ask for exactly one; `geojson` is a collection with a feature
 * for each row, where the database has PostGIS; `made` is what an aggregate of the project makes of the rows.
 */
export type ContentFormat = 'json' | 'csv' | 'object' | 'geojson' | 'made'

export type CountKind = 'exact' | 'planned' | 'estimated'

/**
 * What else a read selects, so that it is of the same snapshot. The placeholders of `from` and `select` are `$1` and on.
 *
 * @example { select: 'r.reference, r.generation', from: 'wharf.stage_reference($1::uuid) AS r', values: [stageId] }
 */
export interface ReferenceSql {
  readonly select: string
  /** One item of a FROM list that gives one row. */
  readonly from: string
  readonly values: readonly unknown[]
}

export interface ReadOptions {
  readonly format: ContentFormat
  readonly count?: CountKind
  /** From the header `Range`; what `offset` and `limit` say comes on top of it. */
  readonly range?: { readonly offset: number; readonly limit?: number }
  /** The most rows of an answer, whatever is asked for; also up to where `count=estimated` counts exactly. */
  readonly maxRows?: number
  /** Leaves fields that are NULL out of JSON. */
  readonly stripNulls?: boolean
  /** What makes an answer of the format `made`. */
  readonly aggregate?: MediaAggregate | undefined
  readonly reference?: ReferenceSql
}

interface Plan {
  readonly statement: SqlStatement
  /** Where in the request a value stands that PostgreSQL refuses. */
  readonly locate: (value: string) => readonly Fault[]
}

/** The statement gives one row: the columns of the reference, then those of `ReadRow`. */
export interface ReadPlan extends Plan {
  readonly offset: number
  /** Null where all rows are asked for. */
  readonly limit: number | null
  /** What `readTotal` asks for a planned count; null where there is nothing to ask. */
  readonly estimate: SqlStatement | null
  readonly count: CountKind | null
  /** Up to where an estimated total is exact. */
  readonly countedUpTo: number | null
  /** Whether the answer can change without an event of the stage's log: it is good for one request, see `Parameters`. */
  readonly unseen: boolean
}

/** What a call gives. */
export interface CallRow extends ReadRow {
  /** How many results the function gave, whatever is shown of them. */
  readonly results: number
}

export interface ReadRow {
  /** The whole answer: JSON or CSV. Null for the format `object` where there is no row. */
  readonly body: string | null
  /** How many rows are in it. */
  readonly rows: number
  /** How many there are in all, if that was counted. */
  readonly total: number | null
}

/** PostgreSQL's type of a value that is given as it is. */
export type RawType = 'text' | 'xml' | 'bytea'

/** A form in which a client takes the result of a function. */
export interface CallForm {
  readonly format: ContentFormat
  readonly stripNulls: boolean
  readonly contentType: string
  /** For a function that gives one value of this type: the value as it is. */
  readonly raw?: RawType
  /** A media type of the project's own, in lower case: the name of a domain that a function gives, or an aggregate of its rows. */
  readonly made?: string
}

export interface CallOptions extends Pick<ReadOptions, 'range' | 'maxRows' | 'reference'> {
  /** The one that the client likes best first. */
  readonly forms: readonly CallForm[]
  /** Whether all results are counted. The function has been called by then, so PostgreSQL's estimate would save nothing. */
  readonly count: boolean
}

/** The statement gives one row: the columns of the reference, then those of `CallRow`. */
export interface CallPlan extends Plan {
  readonly called: CatalogFunction
  /** The form of the answer. The body of what is `bytea` (`raw`) is in hexadecimal digits. */
  readonly form: CallForm
  readonly offset: number
  /**
   * As of a `ReadPlan`. What an immutable function gives follows from its arguments; a stable one may read the clock, settings or other schemas,
   * which the stage's reference says nothing about.
   */
  readonly unseen: boolean
}

/** `representation`: the rows written, as `select` says. `headers-only`: the key of the row inserted. */
export type ReturnKind = 'representation' | 'headers-only' | 'minimal'

export interface WriteOptions {
  readonly format: ContentFormat
  readonly return: ReturnKind
  readonly stripNulls?: boolean
}

export interface UpdateOptions extends WriteOptions {
  /** What a column gets that a row does not name although `columns` (or another row) does. */
  readonly missing?: 'null' | 'default'
}

export interface InsertOptions extends UpdateOptions {
  /** What becomes of a row whose key is there already: the request fails, the row is changed, or left as it is. */
  readonly onDuplicate?: 'fail' | 'merge' | 'ignore'
}

/** The statement gives one row: `WriteRow`. */
export interface WritePlan extends Plan {
  /** Whether a filter restricts which rows are written. Always true of an insert. */
  readonly filtered: boolean
  /** Whether rows are matched with those that are there, as `onDuplicate` says. */
  readonly matches: boolean
  /** Whether it is to a view, so that nothing of the stage may change by it, whatever is counted. */
  readonly isView: boolean
}

export interface WriteRow {
  /** Null unless the representation was asked for, and for the format `object` where no row was written. */
  readonly body: string | null
  /** How many rows were inserted, updated or deleted. */
  readonly rows: number
  /** How many of these an insert found there, and changed. */
  readonly merged: number
  /**
   * With `return=headers-only`, and one row inserted in a table with a primary key: JSON object of the key's columns,
   * with values as text; else null.
   */
  readonly key: string | null
}
