import { quoteIdentifier } from '../../database/quoting.ts'
import type { CatalogColumn, CatalogTable, CatalogType, StageCatalog } from './catalog.ts'
import type { Parameters } from './parameters.ts'
import type { Field } from './parse-field.ts'
import type { Reader } from './reader.ts'
import { suggest } from './suggest.ts'

/** SQL that gives a value, and of which type. */
export interface TypedSql {
  readonly sql: string
  readonly type: CatalogType
  /** The name of the column, for error messages. */
  readonly column: string
}

/** A type that PostgreSQL brings. */
export const builtInType = (catalog: StageCatalog, name: string): CatalogType => {
  const type = catalog.castTypes.get(name)
  if (!type) throw new Error(`the catalog has no type ${name}`)
  return type
}

/** @throws {AppError} INVALID_REQUEST where the table has no such column. */
export function findColumn(table: CatalogTable, name: string, reader: Reader, position: number): CatalogColumn {
  const column = table.columns.get(name)
  if (column) return column
  throw reader.refused(
    `"${table.name}" has no column "${name.slice(0, 200)}"${suggest(name, table.columns.keys())}`,
    position,
  )
}

const isJson = ({ builtIn: name }: CatalogType): boolean => name === 'json' || name === 'jsonb'

/**
 * A column's value, or what its path leads to.
 *
 * @param comparable makes JSON `jsonb`, since `json` can be neither compared nor ordered.
 */
export function fieldSql(
  scope: { readonly catalog: StageCatalog; readonly parameters: Parameters },
  row: { readonly table: CatalogTable; readonly alias: string },
  field: Field,
  reader: Reader,
  comparable: boolean,
): TypedSql {
  const { catalog, parameters } = scope
  const { name, type } = findColumn(row.table, field.name, reader, field.position)
  const plain = `${row.alias}.${quoteIdentifier(name)}`
  if (field.path.length === 0) return { sql: plain, type, column: name }
  if (!isJson(type) && type.category !== 'A' && type.kind !== 'c') {
    throw reader.refused(
      `"${name}" is no JSON: it is of type ${type.name}, which a path does not lead into`,
      field.position,
    )
  }
  const asItIs = type.builtIn === 'jsonb' || (type.builtIn === 'json' && !comparable)
  let sql = asItIs ? plain : `pg_catalog.to_jsonb(${plain})`
  for (const { key, asText } of field.path) {
    const step = typeof key === 'number' ? parameters.of(String(key), 'pg_catalog.int4') : parameters.text(key)
    sql = `(${sql} ${asText ? '->>' : '->'} ${step})`
  }
  const result = field.path.at(-1)?.asText ? 'text' : type.builtIn === 'json' && asItIs ? 'json' : 'jsonb'
  return { sql, type: builtInType(catalog, result), column: name }
}
