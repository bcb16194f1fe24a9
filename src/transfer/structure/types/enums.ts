import { quoteLiteral } from '../../../database/quoting.ts'
import { jsonObject } from '../query.ts'
import { TYPE_COMMENT, type TypeKind, typeColumns } from './type-kind.ts'

const LINE_SQL = jsonObject({
  name: 't.typname',
  values: 'ARRAY(SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)',
  comment: TYPE_COMMENT,
})

export const ENUM: TypeKind<'enum'> = {
  noun: 'enum',
  sql: `
SELECT ${typeColumns(LINE_SQL)}
  FROM pg_catalog.pg_type t
 WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'e'
 ORDER BY t.typname`,
  create: (name, { values }) => `CREATE TYPE ${name} AS ENUM (${values.map(quoteLiteral).join(', ')})`,
  facts: ({ values }) => ({ 'list of values': values.map((value) => JSON.stringify(value)).join(', ') }),
}
