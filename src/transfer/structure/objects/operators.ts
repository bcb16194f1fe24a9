import { commentOn } from '../clauses.ts'
import { jsonObject } from '../query.ts'
import { functionNameSql, IS_OWN_SQL, type ObjectKind, type ObjectLineOf } from './object-kind.ts'

/** `, NAME = value` where there is a value. @param value SQL of a text. */
const option = (name: string, value: string): string => `COALESCE(', ${name} = ' || ${value}, '')`

/** An operator, by its OID, as `CREATE OPERATOR` names others: those of the stage or of PostgreSQL itself. */
const otherOperator = (oid: string): string =>
  `(SELECT other.oprname::text FROM pg_catalog.pg_operator other WHERE other.oid = ${oid})`

const OPERATOR_SQL = `
  'CREATE OPERATOR ' || o.oprname::text || ' (FUNCTION = ' || ${functionNameSql('o.oprcode')}
  || ${option('LEFTARG', `pg_catalog.format_type(NULLIF(o.oprleft, '0'), NULL)`)}
  || ', RIGHTARG = ' || pg_catalog.format_type(o.oprright, NULL)
  || ${option('COMMUTATOR', otherOperator('o.oprcom'))}
  || ${option('NEGATOR', otherOperator('o.oprnegate'))}
  || ${option('RESTRICT', functionNameSql('o.oprrest'))}
  || ${option('JOIN', functionNameSql('o.oprjoin'))}
  || CASE WHEN o.oprcanhash THEN ', HASHES' ELSE '' END
  || CASE WHEN o.oprcanmerge THEN ', MERGES' ELSE '' END || ')'`

const signature = ({ name, left, right }: ObjectLineOf<'operator'>): string => `${name} (${left ?? 'NONE'}, ${right})`

export const OPERATOR: ObjectKind<'operator'> = {
  noun: 'operator',
  sql: `
SELECT 'pg_operator:' || o.oid::text AS key,
       o.oprname::text || ' (' || COALESCE(pg_catalog.format_type(NULLIF(o.oprleft, '0'), NULL), 'NONE') || ', '
       || pg_catalog.format_type(o.oprright, NULL) || ')' AS name,
       CASE WHEN o.oprcode::pg_catalog.oid = '0' THEN 'it has no function yet' END AS blocker,
       ${jsonObject({
         name: 'o.oprname',
         left: `pg_catalog.format_type(NULLIF(o.oprleft, '0'), NULL)`,
         right: 'pg_catalog.format_type(o.oprright, NULL)',
         definition: OPERATOR_SQL,
         comment: `pg_catalog.obj_description(o.oid, 'pg_operator')`,
       })} AS line
  FROM pg_catalog.pg_operator o
 WHERE o.oprnamespace = $1::pg_catalog.oid AND ${IS_OWN_SQL}
 ORDER BY o.oprname, o.oprleft, o.oprright`,
  nameOf: signature,
  create: (line) => [line.definition, ...commentOn(`OPERATOR ${signature(line)}`, line.comment)],
  drop: (line) => `DROP OPERATOR IF EXISTS ${signature(line)} CASCADE`,
}

const CAST_SQL = `
  'CREATE CAST (' || types.source || ' AS ' || types.target || ') '
  || CASE o.castmethod
          WHEN 'f' THEN 'WITH FUNCTION ' || o.castfunc::pg_catalog.regprocedure::text
          WHEN 'i' THEN 'WITH INOUT' ELSE 'WITHOUT FUNCTION' END
  || CASE o.castcontext WHEN 'a' THEN ' AS ASSIGNMENT' WHEN 'i' THEN ' AS IMPLICIT' ELSE '' END`

const castTypes = ({ source, target }: ObjectLineOf<'cast'>): string => `(${source} AS ${target})`

/** The casts of the schema's types; that of a range to its multirange comes with the range. */
export const CAST: ObjectKind<'cast'> = {
  noun: 'cast',
  sql: `
SELECT 'pg_cast:' || o.oid::text AS key, types.source || ' AS ' || types.target AS name, NULL AS blocker,
       ${jsonObject({
         name: `types.source || ' AS ' || types.target`,
         source: 'types.source',
         target: 'types.target',
         definition: CAST_SQL,
         comment: `pg_catalog.obj_description(o.oid, 'pg_cast')`,
       })} AS line
  FROM pg_catalog.pg_cast o
  CROSS JOIN LATERAL (
    SELECT pg_catalog.format_type(o.castsource, NULL) AS source, pg_catalog.format_type(o.casttarget, NULL) AS target
  ) types
 WHERE o.oid >= '16384' AND ${IS_OWN_SQL}
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                    WHERE d.classid = o.tableoid AND d.objid = o.oid AND d.deptype = 'i')
   AND EXISTS (SELECT FROM pg_catalog.pg_type t
                WHERE t.oid IN (o.castsource, o.casttarget) AND t.typnamespace = $1::pg_catalog.oid)
 ORDER BY 2`,
  nameOf: ({ source, target }) => `${source} AS ${target}`,
  create: (line) => [line.definition, ...commentOn(`CAST ${castTypes(line)}`, line.comment)],
  drop: (line) => `DROP CAST IF EXISTS ${castTypes(line)} CASCADE`,
}
