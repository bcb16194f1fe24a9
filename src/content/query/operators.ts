/**
 * How an operator takes its value, and what it needs of its column:
 * - `compare`: a value of the column's own type;
 * - `pattern`: a text column, and text in which `*` may stand for `%`; `regex` likewise, without the star;
 * - `list`: several values of the column's type;
 * - `is`: one of a few words;
 * - `set`: arrays, ranges, JSON: values that contain others; `range`: ranges only;
 * - `search`: text, JSON or a search vector, and a search query.
 */
export type OperatorFamily = 'compare' | 'pattern' | 'regex' | 'list' | 'is' | 'set' | 'range' | 'search'

export interface Operator {
  readonly name: string
  readonly family: OperatorFamily
  /** The operator in SQL; of `isdistinct`, the one that says the opposite; for `search` the function that makes the query. */
  readonly sql: string
  /** Whether `(any)` and `(all)` go with it. */
  readonly quantified: boolean
}

const operator = (name: string, family: OperatorFamily, sql: string, quantified = false): [string, Operator] => [
  name,
  { name, family, sql, quantified },
]

/** @see https://docs.postgrest.org/en/stable/references/api/tables_views.html#operators */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  operator('eq', 'compare', '=', true),
  operator('neq', 'compare', '<>'),
  operator('gt', 'compare', '>', true),
  operator('gte', 'compare', '>=', true),
  operator('lt', 'compare', '<', true),
  operator('lte', 'compare', '<=', true),
  operator('isdistinct', 'compare', '='),
  operator('like', 'pattern', '~~', true),
  operator('ilike', 'pattern', '~~*', true),
  operator('match', 'regex', '~', true),
  operator('imatch', 'regex', '~*', true),
  operator('in', 'list', '='),
  operator('is', 'is', 'IS'),
  operator('cs', 'set', '@>'),
  operator('cd', 'set', '<@'),
  operator('ov', 'set', '&&'),
  operator('sl', 'range', '<<'),
  operator('sr', 'range', '>>'),
  operator('nxr', 'range', '&<'),
  operator('nxl', 'range', '&>'),
  operator('adj', 'range', '-|-'),
  operator('fts', 'search', 'pg_catalog.to_tsquery'),
  operator('plfts', 'search', 'pg_catalog.plainto_tsquery'),
  operator('phfts', 'search', 'pg_catalog.phraseto_tsquery'),
  operator('wfts', 'search', 'pg_catalog.websearch_to_tsquery'),
])

/** What `is` compares with. A composite value that is all NULLs is NULL, too, as in SQL and PostgREST. */
export const IS_VALUES: ReadonlyMap<string, string> = new Map([
  ['null', 'IS NULL'],
  ['not_null', 'IS NOT NULL'],
  ['true', 'IS TRUE'],
  ['false', 'IS FALSE'],
  ['unknown', 'IS UNKNOWN'],
])
