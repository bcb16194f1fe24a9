import { quoteIdentifier } from '../../../database/quoting.ts'
import { collate, commentOn } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { TYPE_COMMENT, type TypeKind, typeColumns } from './type-kind.ts'

const ATTRIBUTE_SQL = jsonObject({
  name: 'a.attname',
  type: 'pg_catalog.format_type(a.atttypid, a.atttypmod)',
  collation: 'pg_catalog.quote_ident(l.collname::text)',
  comment: 'pg_catalog.col_description(a.attrelid, a.attnum)',
})

const LINE_SQL = jsonObject({
  name: 't.typname',
  attributes: `COALESCE((
         SELECT pg_catalog.json_agg(${ATTRIBUTE_SQL} ORDER BY a.attnum)
           FROM pg_catalog.pg_attribute a
           JOIN pg_catalog.pg_type own ON own.oid = a.atttypid
           LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND a.attcollation <> own.typcollation
          WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped), '[]')`,
  comment: TYPE_COMMENT,
})

/** A composite type of its own, and no table's. */
export const COMPOSITE: TypeKind<'composite'> = {
  noun: 'composite type',
  sql: `
SELECT ${typeColumns(LINE_SQL)}
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
 WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'c' AND c.relkind = 'c'
 ORDER BY t.typname`,
  create(name, { attributes }) {
    const list = attributes.map((each) => `${quoteIdentifier(each.name)} ${each.type}${collate(each)}`)
    return `CREATE TYPE ${name} AS (${list.join(', ')})`
  },
  complete: (name, { attributes }) =>
    attributes.flatMap((each) => commentOn(`COLUMN ${name}.${quoteIdentifier(each.name)}`, each.comment)),
  facts: ({ attributes }) => ({ attributes: attributes.map(({ name, type }) => `${name} ${type}`).join(', ') }),
}
