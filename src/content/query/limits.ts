/** What one request may ask for; beyond it, it is refused before PostgreSQL hears of it. */
export const LIMITS = {
  /** Characters in the names and values of all query parameters. */
  queryCharacters: 65_536,
  /** Columns and relations that `select` names. */
  selected: 500,
  /** Filters, those inside `and` and `or` included. */
  filters: 200,
  /** `and`, `or` and `not` inside each other. */
  logicDepth: 10,
  /** Relations embedded. */
  embeddings: 40,
  /** Relations embedded in each other. */
  embeddingDepth: 8,
  /** Steps into a JSON value: `data->a->b`. */
  pathSteps: 20,
  /** Different sets of columns among the rows of one insert with `missing=default`. */
  columnSets: 50,
  /** Rows up to which `count=estimated` counts exactly, where the caller sets no `maxRows`. */
  exactEstimate: 1000,
} as const
