import type { CatalogTable, CatalogType } from './catalog.ts'
import { builtInType, callSql, fieldSql, type TypedSql, type Writing } from './column-sql.ts'
import { hasOwnOperators, operatorSql } from './operator-sql.ts'
import { IS_VALUES } from './operators.ts'
import { arrayLiteral } from './parameters.ts'
import type { Condition, Filter, Logic } from './parse-filter.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'

/** What a row's conditions are written with. */
export interface FilterScope extends Writing {
  /** Whether the answer is kept until rows change, and so must not depend on the clock. */
  readonly kept: boolean
  readonly table: CatalogTable
  readonly alias: string
  /** The condition, `not` included, that a filter on an embedded relation stands for (`artist=not.is.null`), else null. */
  readonly presence: (filter: Filter) => string | null
}

/** @throws {AppError} INVALID_REQUEST: no such column, or an operator that does not go with its type. */
export function conditionSql(scope: FilterScope, condition: Condition): string {
  const presence = condition.kind === 'filter' ? scope.presence(condition) : null
  if (presence !== null) return presence
  const sql = condition.kind === 'filter' ? filterSql(scope, condition) : logicSql(scope, condition)
  return condition.negated ? `NOT ${sql}` : sql
}

function logicSql(scope: FilterScope, { kind, conditions }: Logic): string {
  const all = conditions.map((condition) => conditionSql(scope, condition))
  return `(${all.join(kind === 'and' ? ' AND ' : ' OR ')})`
}

function filterSql(scope: FilterScope, filter: Filter): string {
  const left = fieldSql(scope, scope, filter.field, filter.reader, true)
  if (scope.kept) assertTimeless(filter, left)
  switch (filter.operator.family) {
    case 'compare':
      return comparison(scope, filter, left, left.type)
    case 'pattern':
    case 'regex':
      assertType(filter, left, left.type.category === 'S' || left.type.category === 'U', 'text')
      return pattern(scope, filter, left)
    case 'list':
      return membership(scope, filter, left)
    case 'is':
      assertType(filter, left, /null/.test(filter.values[0] ?? '') || left.type.category === 'B', 'booleans')
      return `(${left.sql} ${IS_VALUES.get(filter.values[0] ?? '')})`
    case 'set':
      assertType(filter, left, holdsOthers(left.type), 'arrays, ranges and JSON')
      return comparison(scope, filter, left, left.type)
    case 'range':
      assertType(filter, left, 'rmb'.includes(left.type.kind) && 'RGIU'.includes(left.type.category), 'ranges')
      return comparison(scope, filter, left, left.type)
    case 'search':
      return search(scope, filter, left)
  }
}

/** Arrays, ranges, geometry, networks, what extensions bring, and jsonb. */
const holdsOthers = ({ category, builtIn }: CatalogType): boolean => 'ARGIU'.includes(category) && builtIn !== 'json'

function assertType(filter: Filter, left: TypedSql, fits: boolean, wanted: string): void {
  if (fits) return
  const { name, family, sql } = filter.operator
  throw filter.reader.refused(
    `"${name}" is for ${wanted}; "${left.column}" is of type ${left.type.name}`,
    filter.field.position,
    POSTGREST.unknownOperator,
    // What `is` and searches are written with is no operator.
    family === 'is' || family === 'search' ? undefined : POSTGREST_SAYS.unknownOperator(left.type.name, sql),
  )
}

/** PostgreSQL reads these as dates of today, so to speak; the answer would be wrong tomorrow, with no row changed. */
const CLOCK_WORDS = /\b(now|today|tomorrow|yesterday)\b/i

function assertTimeless({ operator, values, reader, field }: Filter, { type, column }: TypedSql): void {
  if (operator.family === 'search' || !/date|time|ts(tz)?(multi)?range/.test(type.builtIn ?? '')) return
  const word = values.map((value) => CLOCK_WORDS.exec(value)?.[0]).find((found) => found !== undefined)
  if (word === undefined) return
  const problem = `"${word}" is not accepted for "${column}", since answers are cached until rows change; give the time itself`
  throw reader.refused(problem, field.position)
}

function comparison(scope: FilterScope, filter: Filter, left: TypedSql, type: CatalogType): string {
  const { operator, quantifier, values, reader, source } = filter
  const [text = ''] = values
  const value = operator.family === 'pattern' ? text.replaceAll('*', '%') : text
  const use = { source, column: left.column, values: [value] }
  const fromText = operator.family === 'compare' && operator.name !== 'isdistinct' && left.representation?.fromText
  const compared = operatorSql(operator.sql, left.type, type)
  if (quantifier === null) {
    const given = fromText
      ? callSql(scope, fromText, scope.parameters.text(value))
      : scope.parameters.of(value, type.baseSql, use)
    const compares = `(${left.sql} ${compared} ${given})`
    return operator.name === 'isdistinct' ? `(${compares} IS NOT TRUE)` : compares
  }
  if (type.baseArraySql === null || type.category === 'A') {
    throw reader.refused(
      `"(${quantifier})" does not go with the type of "${left.column}", ${type.name}`,
      filter.field.position,
    )
  }
  const several = scope.parameters.of(value, type.baseArraySql, use)
  return `(${left.sql} ${compared} ${quantifier === 'any' ? 'ANY' : 'ALL'} (${several}))`
}

/** Extensions have patterns of their own for their types, as ltree has. */
function pattern(scope: FilterScope, filter: Filter, left: TypedSql): string {
  const { operator, quantifier, values, source } = filter
  const [value = ''] = values
  if (operator.family !== 'regex' || quantifier !== null || left.type.category !== 'U' || hasOwnOperators(left.type)) {
    return comparison(scope, filter, left, builtInType(scope.catalog, 'text'))
  }
  return `(${left.sql} ${operator.sql} ${scope.parameters.untyped(value, { source, column: left.column, values })})`
}

function membership(scope: FilterScope, { values, source }: Filter, left: TypedSql): string {
  const { type, column, sql, representation } = left
  // What leads to the value has parameters, which have no type where nothing uses them.
  if (values.length === 0) return `(${sql} IS NULL AND false)`
  const use = { source, column, values }
  const equals = `${sql} ${operatorSql('=', type)}`
  if (representation?.fromText) {
    const texts = `pg_catalog.unnest(${scope.parameters.of(arrayLiteral(values), 'pg_catalog._text')})`
    return `(${equals} ANY (SELECT ${callSql(scope, representation.fromText, texts)}))`
  }
  if (type.baseArraySql === null || type.category === 'A') {
    const each = values.map((value) => scope.parameters.of(value, type.baseSql, { ...use, values: [value] }))
    return `(${each.map((value) => `${equals} ${value}`).join(' OR ')})`
  }
  return `(${equals} ANY (${scope.parameters.of(arrayLiteral(values), type.baseArraySql, use)}))`
}

/**
 * What searches without a configuration use, since the answer is kept for as long as a stage's reference stays the same,
 * and the database's default may change meanwhile.
 */
const DEFAULT_CONFIGURATION = 'pg_catalog.english'

function search(scope: FilterScope, filter: Filter, left: TypedSql): string {
  const { operator, config, values, source } = filter
  const { builtIn, category } = left.type
  const ready = builtIn === 'tsvector'
  assertType(filter, left, ready || category === 'S' || builtIn === 'json' || builtIn === 'jsonb', 'text')
  const use = { source, column: left.column, values }
  const configuration = scope.parameters.of(config ?? DEFAULT_CONFIGURATION, 'pg_catalog.regconfig')
  const vector = ready ? left.sql : `pg_catalog.to_tsvector(${configuration}, ${left.sql})`
  return `(${vector} @@ ${operator.sql}(${configuration}, ${scope.parameters.of(values[0] ?? '', 'pg_catalog.text', use)}))`
}
