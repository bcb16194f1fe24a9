/**
 * How the structure is asked for: one SQL text with parameters in, rows out. All questions of one reading
 * run in one transaction, so that the answers fit together. Those that need no answer of another are asked at the same
 * time (`ask-together.ts`).
 *
 * The SQL of this folder expects the session's `search_path` to be that of a stage (`stagePath`). PostgreSQL then
 * prints the names of the stage's own, and of extensions, unqualified, and looks into `pg_catalog` first without being
 * told to, so that no table or type of a project takes the place of a built-in one. Of functions and operators, one whose
 * argument types match better would win: functions are qualified, and operators stand between values of types for which
 * PostgreSQL has one of its own (`catalog-oids.ts`). Only plain types come back (text, integer, boolean,
 * json, text[]): Prisma's raw queries do not read the catalogs' own.
 */
export type Query = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/**
 * The statements that prepare a transaction to read the structure. What looks at catalogs is costly on paper, more so
 * while nothing is known yet of what has just been made: to compile it (`jit`), or to start other processes for it (30 ms
 * for a question of 4 ms), takes longer than to answer it.
 */
export const PREPARE_READING: readonly string[] = [
  'SET LOCAL jit = off',
  'SET LOCAL max_parallel_workers_per_gather = 0',
]

/** What was there of `object`, without the fields that are NULL: lines leave out what does not apply. */
export function withoutNulls<T extends object>(object: T): WithoutNulls<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as WithoutNulls<T>
}

type WithoutNulls<T> = { [K in keyof T as null extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>
}

/** SQL that makes a line of these properties, without those that are NULL: lines leave out what does not apply. */
export function jsonObject(properties: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(properties).map(([name, value]) => `'${name}', ${value}`)
  return `pg_catalog.json_strip_nulls(pg_catalog.json_build_object(${pairs.join(', ')}))`
}

/** Compares by code units: the order is the same on every machine, whatever its locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Groups rows by a key, in the order in which they came. */
export function groupBy<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group) group.push(row)
    else groups.set(keyOf(row), [row])
  }
  return groups
}
