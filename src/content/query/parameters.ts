/** Where a value of a statement came from. */
export interface Place {
  /** The query parameter, or `body`. */
  readonly parameter: string
  /** The table's column; null where the value is not one of a column's. */
  readonly column: string | null
  /** As the request has it. */
  readonly value: string
}
