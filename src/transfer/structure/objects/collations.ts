import { quoteIdentifier } from '../../../database/quoting.ts'
import { commentOn } from '../clauses.ts'
import { HIDDEN } from '../hidden-types.ts'
import { jsonObject } from '../query.ts'
import { IS_OWN_SQL, type ObjectKind } from './object-kind.ts'

/** `, NAME = 'value'` where there is a value. @param value SQL of a text. */
const option = (name: string, value: string): string =>
  `COALESCE(', ${name} = ' || pg_catalog.quote_literal(${value}), '')`

const LOCALE_SQL = `COALESCE(
  known.names ->> 'colllocale'::text, known.names ->> 'colliculocale'::text,
  CASE o.collprovider WHEN 'i' THEN o.collcollate::text END)`

// What columns the catalog has differs by version: `colliculocale` came with PostgreSQL 15, before which ICU's locale stood where that of
// libc does, and is `colllocale` from 17; `collicurules` came with 16.
const DEFINITION_SQL = `
  'CREATE COLLATION ' || pg_catalog.quote_ident(o.collname::text) || ' (PROVIDER = '
  || CASE o.collprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END
  || CASE WHEN o.collisdeterministic THEN '' ELSE ', DETERMINISTIC = false' END
  || ${option('LOCALE', LOCALE_SQL)}
  || CASE o.collprovider WHEN 'c' THEN ${option('LC_COLLATE', 'o.collcollate')} || ${option('LC_CTYPE', 'o.collctype')}
          ELSE '' END
  || ${option('RULES', `known.names ->> 'collicurules'::text`)} || ')'`

const LINE_SQL = jsonObject({
  name: 'o.collname',
  definition: DEFINITION_SQL,
  comment: `pg_catalog.obj_description(o.oid, 'pg_collation')`,
})

export const COLLATION: ObjectKind<'collation'> = {
  noun: 'collation',
  sql: `
SELECT 'pg_collation:' || o.oid::text AS key, o.collname::text AS name,
       CASE WHEN NOT pg_catalog.pg_collation_is_visible(o.oid) THEN '${HIDDEN}' END
         AS blocker,
       ${LINE_SQL} AS line
  FROM pg_catalog.pg_collation o
  CROSS JOIN LATERAL (SELECT pg_catalog.to_jsonb(o) AS names) known
 WHERE o.collnamespace = $1::pg_catalog.oid AND ${IS_OWN_SQL}
 ORDER BY o.collname`,
  nameOf: ({ name }) => name,
  create: ({ name, definition, comment }) => [definition, ...commentOn(`COLLATION ${quoteIdentifier(name)}`, comment)],
  drop: ({ name }) => `DROP COLLATION IF EXISTS ${quoteIdentifier(name)} CASCADE`,
}
