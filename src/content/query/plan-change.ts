import { quoteIdentifier } from '../../database/quoting.ts'
import { invalidRequest } from '../../errors.ts'
import type { StageCatalog, WriteKind } from './catalog.ts'
import type { QueryParameters, UpdateOptions, WriteOptions, WritePlan } from './plans.ts'
import { readBody, writtenColumns } from './read-body.ts'
import { whereSql } from './rows-sql.ts'
import { finishWrite, givenSql, prepareWrite, type Write } from './write.ts'

/** Like `planInsert`; the body is one object: the columns to change. With none, and with no object, nothing is written. */
export function planUpdate(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  text: string,
  options: UpdateOptions,
): WritePlan {
  const write = prepareChange('update', catalog, tableName, query, options)
  const body = readBody(text)
  const [row] = body.rows
  if (body.rows.length > 1) throw invalidRequest('the body has to be one object: the columns to change')
  const columns = row ? writtenColumns(write.table, body, write.query.columns, { kind: 'update', uneven: false }) : []
  if (!row || columns.length === 0) return finishWrite(write, [], { body, filtered: true })
  const { scope, target, name } = write
  const json = scope.parameters.of(body.text, 'pg_catalog.json')
  const set = columns.map(({ name: column }) => {
    const isDefault = options.missing === 'default' && !Object.hasOwn(row, column)
    return `${quoteIdentifier(column)} = ${isDefault ? 'DEFAULT' : `given.${quoteIdentifier(column)}`}`
  })
  const records = body.isArray ? `pg_catalog.json_to_recordset(${json})` : `pg_catalog.json_to_record(${json})`
  const given = givenSql(scope, records, columns)
  const sql = `UPDATE ${name} AS ${target.alias} SET ${set.join(', ')} FROM ${given}${whereSql(scope, target, {})}`
  return finishWrite(write, [sql], { body, filtered: target.conditions.length > 0 })
}

/** Like `planInsert`, without a body. */
export function planDelete(
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  options: WriteOptions,
): WritePlan {
  const write = prepareChange('delete', catalog, tableName, query, options)
  const { scope, target, name } = write
  const sql = `DELETE FROM ${name} AS ${target.alias}${whereSql(scope, target, {})}`
  return finishWrite(write, [sql], { body: null, filtered: target.conditions.length > 0 })
}

function prepareChange(
  kind: WriteKind,
  catalog: StageCatalog,
  tableName: string,
  query: QueryParameters,
  options: WriteOptions,
): Write {
  const write = prepareWrite([kind], catalog, tableName, query, options)
  if (write.seen.limit === null && write.seen.offset === 0) return write
  throw invalidRequest('PATCH and DELETE take no "limit" and no "offset"; say by filters which rows they are for')
}
