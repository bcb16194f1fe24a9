import { quoteIdentifier } from '../../../database/quoting.ts'
import { commentOn, storageOptionsSql } from '../clauses.ts'
import { COLUMN_STORAGE, completeColumns } from '../columns.ts'
import { jsonObject } from '../query.ts'
import { clusterOn } from '../tables.ts'
import { IS_OWN_SQL, type ObjectKind } from './object-kind.ts'
import { COLUMN, columnsSql, QUERY_SQL, viewClauses, viewColumnComments } from './views.ts'

const INDEXES_SQL = `COALESCE((
         SELECT pg_catalog.json_agg(${jsonObject({
           name: 'x.relname',
           definition: 'pg_catalog.pg_get_indexdef(x.oid, 0, true)',
           comment: `pg_catalog.obj_description(x.oid, 'pg_class')`,
         })} ORDER BY x.relname)
           FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
          WHERE i.indrelid = o.oid AND i.indisvalid), '[]')`

const LINE_SQL = jsonObject({
  name: 'o.relname',
  columns: columnsSql({ ...COLUMN, ...COLUMN_STORAGE }),
  definition: QUERY_SQL,
  options: storageOptionsSql('o.reloptions', 'toast.reloptions'),
  indexes: INDEXES_SQL,
  clusterOn: `(SELECT x.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
                WHERE i.indrelid = o.oid AND i.indisvalid AND i.indisclustered)`,
  populated: 'o.relispopulated',
  comment: `pg_catalog.obj_description(o.oid, 'pg_class')`,
})

/** A materialized view comes without rows: `fillViews` works them out again, where it had some. */
export const MATERIALIZED_VIEW: ObjectKind<'materializedView'> = {
  noun: 'materialized view',
  sql: `
SELECT 'pg_class:' || o.oid::text AS key, o.relname::text AS name, NULL AS blocker, ${LINE_SQL} AS line
  FROM pg_catalog.pg_class o
  LEFT JOIN pg_catalog.pg_class toast ON toast.oid = o.reltoastrelid
 WHERE o.relnamespace = $1::pg_catalog.oid AND o.relkind = 'm' AND ${IS_OWN_SQL}
 ORDER BY o.relname`,
  nameOf: ({ name }) => name,
  create: (line) => [
    `CREATE MATERIALIZED VIEW ${viewClauses(line)} WITH NO DATA`,
    ...completeColumns(line),
    ...(line.indexes ?? []).flatMap(({ name, definition, comment }) => [
      definition,
      ...commentOn(`INDEX ${quoteIdentifier(name)}`, comment),
    ]),
    ...clusterOn(line),
    ...commentOn(`MATERIALIZED VIEW ${quoteIdentifier(line.name)}`, line.comment),
    ...viewColumnComments(line),
  ],
  drop: ({ name }) => `DROP MATERIALIZED VIEW IF EXISTS ${quoteIdentifier(name)} CASCADE`,
}
