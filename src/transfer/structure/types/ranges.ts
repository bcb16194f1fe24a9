import { quoteIdentifier } from '../../../database/quoting.ts'
import { jsonObject } from '../query.ts'
import { TYPE_COMMENT, type TypeKind, typeColumns } from './type-kind.ts'

// A subtype's usual operator class and collation need no mention. A canonical function is the project's own in every
// case, since it takes the range itself: such a range depends on a function and is left out for that.
const LINE_SQL = jsonObject({
  name: 't.typname',
  subtype: 'pg_catalog.format_type(r.rngsubtype, NULL)',
  operatorClass: 'CASE WHEN NOT o.opcdefault THEN pg_catalog.quote_ident(o.opcname::text) END',
  collation: 'pg_catalog.quote_ident(l.collname::text)',
  difference: 'pg_catalog.quote_ident(f.proname::text)',
  multirange: 'm.typname',
  comment: TYPE_COMMENT,
})

export const RANGE: TypeKind<'range'> = {
  noun: 'range',
  sql: `
SELECT ${typeColumns(LINE_SQL)}
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid
  JOIN pg_catalog.pg_type sub ON sub.oid = r.rngsubtype
  JOIN pg_catalog.pg_type m ON m.oid = r.rngmultitypid
  JOIN pg_catalog.pg_opclass o ON o.oid = r.rngsubopc
  LEFT JOIN pg_catalog.pg_proc f ON f.oid = r.rngsubdiff::pg_catalog.oid
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = r.rngcollation AND r.rngcollation <> sub.typcollation
 WHERE t.typnamespace = $1::pg_catalog.oid
 ORDER BY t.typname`,
  create(name, { subtype, operatorClass, collation, difference, multirange }) {
    const options = {
      SUBTYPE: subtype,
      SUBTYPE_OPCLASS: operatorClass,
      COLLATION: collation,
      SUBTYPE_DIFF: difference,
      MULTIRANGE_TYPE_NAME: multirange === undefined ? undefined : quoteIdentifier(multirange),
    }
    const written = Object.entries(options).flatMap(([option, value]) =>
      value === undefined ? [] : [`${option} = ${value}`],
    )
    return `CREATE TYPE ${name} AS RANGE (${written.join(', ')})`
  },
  facts: ({ subtype }) => ({ subtype }),
}
