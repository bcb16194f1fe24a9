import { quoteIdentifier } from '../../database/quoting.ts'
import { AppError, invalidRequest } from '../../errors.ts'
import { bodySql } from './body-sql.ts'
import type { CatalogFunction, CatalogTable, CatalogType, MediaAggregate, StageCatalog } from './catalog.ts'
import { findFunction } from './find-function.ts'
import { type FunctionCall, type GivenArguments, readCall } from './function-call.ts'
import { callSql } from './function-sql.ts'
import { aggregateFor, noneOf, RESULT_TYPES } from './media-types.ts'
import { Parameters } from './parameters.ts'
import { parseQuery } from './parse-query.ts'
import { restrict, takesWhole } from './plan-read.ts'
import type { CallForm, CallOptions, CallPlan, QueryParameters, RawType } from './plans.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import { locateInBody } from './read-body.ts'
import { countedSql, selectSql } from './select-sql.ts'
import { buildTree } from './tree.ts'

/**
 * Turns a call into one statement, which gives one row (`CallRow`, after the columns of the reference). It calls the function once,
 * whatever of its result is asked for.
 *
 * @throws {AppError} NOT_FOUND, AMBIGUOUS_FUNCTION; INVALID_REQUEST where the body is not what its type says; as `planRead`.
 */
export function planCall(catalog: StageCatalog, call: FunctionCall, options: CallOptions): CallPlan {
  const { given, shown } = readCall(call)
  const found = findFunction(catalog, call.name, given)
  const { called } = found
  const form = formOf(catalog, called, options.forms, shown)
  const parameters = new Parameters(options.reference?.values)
  const results = `called AS (${callSql(catalog, found, given, parameters)})`
  const page = pageOf(catalog, called, shown, { ...options, form }, parameters)
  const total = options.count ? `(${page.total()})::pg_catalog.float8` : 'NULL::pg_catalog.float8'
  // What is asked of a result may need none of it. The function is called nevertheless.
  const answer = `SELECT body, rows, ${total} AS total, (SELECT pg_catalog.count(*) FROM called)::pg_catalog.float8 AS results FROM (${page.body}) AS answer`
  const { reference } = options
  const text = reference
    ? `WITH ${results} SELECT ${reference.select}, page.* FROM ${reference.from} CROSS JOIN (${answer}) AS page`
    : `WITH ${results} ${answer}`
  return {
    statement: { text, values: parameters.values },
    locate: (value) => [...parameters.locate(value), ...locateInArguments(given, value)],
    called,
    form,
    offset: page.offset,
    unseen: parameters.unseen || called.volatility !== 'immutable' || called.result.kind === 'nothing',
  }
}

/** A form that a function can be had in; what is made of rows, with the aggregate that makes it. */
interface FoundForm extends CallForm {
  readonly aggregate?: MediaAggregate
}

type PageOptions = Omit<CallOptions, 'forms'> & { readonly form: FoundForm }

/** The first form that the function can be had in. */
function formOf(
  catalog: StageCatalog,
  { name, set, result }: CatalogFunction,
  forms: readonly CallForm[],
  shown: QueryParameters,
): FoundForm {
  const { toFeature } = catalog
  const type = result.kind === 'value' && !set ? (RAW_TYPES.get(result.type.builtIn ?? '') ?? null) : null
  const hasFeatures = toFeature !== null && result.kind === 'row'
  if (result.kind === 'value' && !set && result.type.name === ANY_TYPE)
    return { ...ANY_FORM, raw: rawTypeOf(result.type) }
  const isSelected = shown.some(([parameter]) => parameter === 'select')
  for (const form of forms) {
    const { format, raw, made } = form
    if (raw !== undefined && raw === type) return form
    if (made !== undefined) {
      if (result.kind === 'value' && !set && result.type.name.toLowerCase() === made)
        return { ...form, raw: rawTypeOf(result.type) }
      const aggregate =
        result.kind === 'row' ? aggregateFor(catalog, made, { table: result.table, isSelected }) : undefined
      if (aggregate) return { ...form, format: 'made', raw: aggregate.givesBytes ? 'bytea' : 'text', aggregate }
    } else if (format !== 'geojson' || hasFeatures) return form
  }
  const asked = forms.map(({ made, contentType }) => made ?? contentType).join(', ')
  const postgrest = POSTGREST_SAYS.noSuchTypes(asked)
  if (forms.every(({ format }) => format === 'geojson')) {
    const why = toFeature === null ? 'its database does not have PostGIS' : 'it gives no rows'
    throw new AppError('NOT_ACCEPTABLE', `of the function "${name}" there is no GeoJSON, as ${why}`, { postgrest })
  }
  if (forms.every(({ raw }) => raw === undefined)) {
    throw noneOf(RESULT_TYPES, asked)
  }
  const given = type === null ? 'is not one value of a type' : `is of the type ${type}, which is none`
  throw new AppError('NOT_ACCEPTABLE', `what the function "${name}" gives ${given} that the Accept header names`, {
    postgrest,
  })
}

/** By PostgreSQL's name of the type under all domains. */
const RAW_TYPES: ReadonlyMap<string, RawType> = new Map([
  ['text', 'text'],
  ['varchar', 'text'],
  ['bpchar', 'text'],
  ['xml', 'xml'],
  ['bytea', 'bytea'],
])

/** A domain of this name stands for all media types: what it is, those know who call the function. */
const ANY_TYPE = '*/*'
const ANY_FORM = { format: 'made', stripNulls: false, contentType: 'application/octet-stream' } as const

const rawTypeOf = ({ builtIn }: CatalogType): RawType => (builtIn === 'bytea' ? 'bytea' : 'text')

interface Page {
  /** Gives one row: `body`, and `rows`. */
  readonly body: string
  /** Gives how many results there are without a limit. */
  readonly total: () => string
  readonly offset: number
}

function pageOf(
  catalog: StageCatalog,
  called: CatalogFunction,
  shown: QueryParameters,
  options: PageOptions,
  parameters: Parameters,
): Page {
  const { result } = called
  if (result.kind === 'row') return rowsPage(catalog, called, result.table, shown, options, parameters)
  if (result.kind === 'nothing') {
    return {
      body: 'SELECT NULL::pg_catalog.text AS body, 0::pg_catalog.float8 AS rows',
      total: () => 'SELECT 0',
      offset: 0,
    }
  }
  return valuesPage(catalog, called, shown, options, parameters)
}

function rowsPage(
  catalog: StageCatalog,
  called: CatalogFunction,
  table: CatalogTable,
  shown: QueryParameters,
  options: PageOptions,
  parameters: Parameters,
): Page {
  // A row of a function's own has no foreign keys, be there a table of the function's name.
  const isOfTable = catalog.tables.get(table.name) === table
  const known = isOfTable ? catalog : { ...catalog, relations: [], computedRelations: [] }
  const root = buildTree(known, table, parseQuery(shown))
  const { offset } = restrict(root, options)
  const { format, stripNulls, aggregate } = options.form
  const kept = called.volatility === 'immutable'
  const scope = { catalog: known, parameters, kept, plain: takesWhole({ aggregate }) }
  const source = { from: 'called' }
  const isOne = !called.set && format === 'json'
  const body = bodySql(
    selectSql(scope, root, source),
    { format: isOne ? 'object' : format, stripNulls, aggregate },
    scope,
  )
  return {
    body: isOne ? `SELECT COALESCE(body, 'null') AS body, rows FROM (${body}) AS one` : body,
    total: () => `SELECT pg_catalog.count(*) FROM (${countedSql(scope, root, source)}) AS counted`,
    offset,
  }
}

function valuesPage(
  catalog: StageCatalog,
  { name, set }: CatalogFunction,
  shown: QueryParameters,
  options: PageOptions,
  parameters: Parameters,
): Page {
  const { select, parts } = parseQuery(shown)
  const cut = { limit: null as number | null, offset: 0 }
  for (const { path, content } of parts) {
    if (path.length > 0 || content.kind === 'condition' || content.kind === 'order') throw withoutColumns(name)
    cut[content.kind] = content.rows
  }
  if (select) throw withoutColumns(name)
  const { offset, limit } = restrict(cut, options)
  const page =
    `SELECT called.value AS ${quoteIdentifier(name)} FROM called` +
    `${limit === null ? '' : ` LIMIT ${parameters.integer(limit)}`}${offset === 0 ? '' : ` OFFSET ${parameters.integer(offset)}`}`
  const total = () => 'SELECT pg_catalog.count(*) FROM called'
  const { form } = options
  if (form.format === 'csv') {
    return {
      body: bodySql({ sql: page, names: [name], aggregates: new Map() }, form, { catalog, parameters }),
      total,
      offset,
    }
  }
  const value = `page.${quoteIdentifier(name)}`
  const body = form.raw ? rawSql(value, form.raw) : valuesSql(value, form, set)
  return {
    body: `SELECT ${body} AS body, pg_catalog.count(*)::pg_catalog.float8 AS rows FROM (${page}) AS page`,
    total,
    offset,
  }
}

function valuesSql(value: string, { format, stripNulls }: CallForm, set: boolean): string {
  const json = `pg_catalog.to_json(${value})`
  const all = `pg_catalog.json_agg(${stripNulls ? `pg_catalog.json_strip_nulls(${json})` : json})`
  if (set && format === 'json') return `COALESCE(${all}::pg_catalog.text, '[]')`
  return `COALESCE((${all} -> 0)::pg_catalog.text, 'null')`
}

const rawSql = (value: string, raw: RawType): string =>
  `pg_catalog.string_agg(${raw === 'bytea' ? `pg_catalog.encode(${value}, 'hex')` : `${value}::pg_catalog.text`}, '')`

const withoutColumns = (name: string) =>
  invalidRequest(`the function "${name}" gives values, which have no columns to be selected, filtered or ordered by`)

function locateInArguments(given: GivenArguments, value: string) {
  if (given.kind !== 'json') return []
  const { text, object, isArray } = given
  return locateInBody({ text, isArray, rows: [object] }, value)
}
