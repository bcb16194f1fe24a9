import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import type {
  CatalogColumn,
  CatalogTable,
  CatalogType,
  ProjectFunction,
  Representation,
  StageCatalog,
} from './catalog.ts'
import type { Parameters } from './parameters.ts'
import type { Field } from './parse-field.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import type { Reader } from './reader.ts'
import { nearestTo, suggest } from './suggest.ts'

/** SQL that gives a value, and of which type. */
export interface TypedSql {
  readonly sql: string
  readonly type: CatalogType
  /** The name of the column, for error messages. */
  readonly column: string
  /** How its values are written and read, where it is a column of a domain as it is. */
  readonly representation?: Representation
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
    POSTGREST.unknownColumn,
    POSTGREST_SAYS.unknownColumn(table.name, name.slice(0, 200), nearestTo(name, table.columns.keys())),
  )
}

const isJson = ({ builtIn: name }: CatalogType): boolean => name === 'json' || name === 'jsonb'

/** What a statement is written with. */
export interface Writing {
  readonly catalog: StageCatalog
  readonly parameters: Parameters
}

/** SQL that calls a function of the project's, by the login of the project. */
export function callSql(
  { parameters }: Pick<Writing, 'parameters'>,
  called: ProjectFunction,
  argument: string,
): string {
  parameters.unseen ||= called.volatile
  return `${called.sql}(${argument})`
}

/** A row as a value of its table's type, which it is no more where it comes out of a query within the statement. */
export const rowSql = ({ catalog }: Pick<Writing, 'catalog'>, { table, alias }: Row): string =>
  `(${alias}.*)::${quoteQualified(catalog.schemaName, table.name)}`

interface Row {
  readonly table: CatalogTable
  readonly alias: string
}

/**
 * A column's value, or that of a function of the row, or what its path leads to.
 *
 * @param comparable makes JSON `jsonb`, since `json` can be neither compared nor ordered.
 */
export function fieldSql(scope: Writing, row: Row, field: Field, reader: Reader, comparable: boolean): TypedSql {
  const { catalog, parameters } = scope
  const { columns, computed } = row.table
  const called = columns.has(field.name) ? undefined : computed.get(field.name)
  const { name, type } = called ?? findColumn(row.table, field.name, reader, field.position)
  const plain = called ? callSql(scope, called, rowSql(scope, row)) : `${row.alias}.${quoteIdentifier(name)}`
  if (field.path.length === 0) {
    return { sql: plain, type, column: name, ...(!called && { representation: type.representation }) }
  }
  if (!isJson(type) && type.category !== 'A' && type.kind !== 'c') {
    throw reader.refused(
      `"${name}" is no JSON: it is of type ${type.name}, which a path does not lead into`,
      field.position,
    )
  }
  const asItIs = type.builtIn === 'jsonb' || (type.builtIn === 'json' && !comparable)
  const sql = pathSql(parameters, asItIs ? plain : `pg_catalog.to_jsonb(${plain})`, field.path)
  const result = field.path.at(-1)?.asText ? 'text' : type.builtIn === 'json' && asItIs ? 'json' : 'jsonb'
  return { sql, type: builtInType(catalog, result), column: name }
}

/** What a path leads to in a JSON value. */
export function pathSql(parameters: Parameters, json: string, path: Field['path']): string {
  return path.reduce((sql, { key, asText }) => {
    const step = typeof key === 'number' ? parameters.of(String(key), 'pg_catalog.int4') : parameters.text(key)
    return `(${sql} ${asText ? '->>' : '->'} ${step})`
  }, json)
}
