import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import type { ReadOptions } from './plans.ts'
import type { Scope } from './rows-sql.ts'
import type { Select } from './select-sql.ts'

/**
 * SQL for one row: `body`, the rows of `select` as one text, and `rows`, how many they are.
 *
 * Values in JSON are those of PostgreSQL's own `to_json`, digits and all. CSV is that of `COPY ... CSV HEADER`: NULL is
 * nothing at all, and empty text is `""`; with no line end after the last row, as PostgREST has it. GeoJSON is PostGIS's. What an
 * aggregate of the project makes is its text, or its bytes in hexadecimal digits.
 */
export function bodySql(
  { sql, names }: Select,
  options: Pick<ReadOptions, 'format'> & Partial<Pick<ReadOptions, 'stripNulls' | 'aggregate'>>,
  { catalog: { toFeature, schemaName }, parameters }: Pick<Scope, 'catalog' | 'parameters'>,
): string {
  const counted = 'pg_catalog.count(*)::pg_catalog.float8 AS rows'
  if (options.format === 'csv') {
    const header = parameters.text(names.map(csvField).join(','))
    const lines = `pg_catalog.string_agg(${csvLine(names)}, E'\\n')`
    return `SELECT ${header} || COALESCE(E'\\n' || ${lines}, '') AS body, ${counted} FROM (${csvValues(sql, names)}) AS page`
  }
  if (options.format === 'made') {
    if (!options.aggregate) throw new Error('what was to be made of rows has no aggregate')
    const { sql: aggregate, table, givesBytes, volatile } = options.aggregate
    parameters.unseen ||= volatile
    const values = names.map((name) => `page.${quoteIdentifier(name)}`).join(', ')
    const row = table === null ? 'page.*' : `ROW(${values})::${quoteQualified(schemaName, table)}`
    const made = `${aggregate}(${row})`
    const text = givesBytes ? `pg_catalog.encode(${made}, 'hex')` : `${made}::pg_catalog.text`
    return `SELECT ${text} AS body, ${counted} FROM (${sql}) AS page`
  }
  if (options.format === 'geojson') {
    if (toFeature === null) throw new Error('GeoJSON was planned without PostGIS')
    const features = `COALESCE(pg_catalog.json_agg(${toFeature}(page.*)::pg_catalog.json), '[]')`
    const collection = `pg_catalog.json_build_object('type', 'FeatureCollection', 'features', ${features})`
    return `SELECT ${collection}::pg_catalog.text AS body, ${counted} FROM (${sql}) AS page`
  }
  const row = options.stripNulls
    ? 'pg_catalog.json_strip_nulls(pg_catalog.row_to_json(page.*))'
    : 'pg_catalog.row_to_json(page.*)'
  const rows = `pg_catalog.json_agg(${row})`
  const body =
    options.format === 'object' ? `(${rows} -> 0)::pg_catalog.text` : `COALESCE(${rows}::pg_catalog.text, '[]')`
  return `SELECT ${body} AS body, ${counted} FROM (${sql}) AS page`
}

/** The rows with the text of each value, as the type itself writes it. */
function csvValues(sql: string, names: readonly string[]): string {
  const values = names.map((name, index) => {
    const value = `page.${quoteIdentifier(name)}`
    return `CASE WHEN ${value} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', ${value}) END AS v${index}`
  })
  return `SELECT ${values.join(', ')} FROM (${sql}) AS page`
}

const csvLine = (names: readonly string[]): string =>
  names
    .map(
      (_, index) =>
        `CASE WHEN page.v${index} ~ E'^$|[",\\\\r\\\\n]' THEN '"' || pg_catalog.replace(page.v${index}, '"', '""') || '"' ` +
        `ELSE COALESCE(page.v${index}, '') END`,
    )
    .join(` || ',' || `) || "''"

const csvField = (name: string): string => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)
