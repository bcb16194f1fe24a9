import { PG_CATALOG_OID, typeOid } from '../../database/catalog-oids.ts'

const executableByPublic = (p: string): string => `EXISTS (
       SELECT FROM pg_catalog.aclexplode(COALESCE(${p}.proacl, pg_catalog.acldefault('f', ${p}.proowner))) g
        WHERE g.grantee = '0' AND g.privilege_type = 'EXECUTE')`

/**
 * Parts of the catalog's query (`catalog-sql.ts`) about functions: those of the schema that can be called over HTTP.
 *
 * Left out are those that PUBLIC may not execute, those that an extension brings, triggers, and those whose arguments have no type before the
 * call (`anyelement` and its like).
 */
export const FUNCTION_PARTS = `
function AS (
  SELECT p.*, r.typtype AS result_kind,
         -- What a domain is over, one deep: a domain over a domain of rows is a value.
         CASE WHEN r.typtype = 'c' THEN r.typrelid WHEN b.typtype = 'c' THEN b.typrelid END AS result_relation
    FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_type r ON r.oid = p.prorettype
    LEFT JOIN pg_catalog.pg_type b ON b.oid = r.typbasetype AND r.typtype = 'd'
   WHERE p.pronamespace = (SELECT oid FROM stage) AND p.prokind = 'f'
     AND (r.typtype <> 'p' OR r.typnamespace = ${PG_CATALOG_OID} AND r.typname IN ('void', 'record'))
     AND ${executableByPublic('p')}
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                      WHERE d.classid = p.tableoid AND d.objid = p.oid AND d.deptype = 'e')
     AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proargtypes::pg_catalog.oid[]) AS a (type)
                       JOIN pg_catalog.pg_type t ON t.oid = a.type WHERE t.typtype = 'p')
), argument AS (
  SELECT f.oid AS function, a.ordinal, a.type, COALESCE(a.name, '') AS name, COALESCE(a.mode, 'i') AS mode
    FROM function f
   CROSS JOIN LATERAL ROWS FROM (
     pg_catalog.unnest(COALESCE(f.proallargtypes, f.proargtypes::pg_catalog.oid[])),
     pg_catalog.unnest(f.proargnames), pg_catalog.unnest(f.proargmodes)
   ) WITH ORDINALITY AS a (type, name, mode, ordinal)
   WHERE a.type IS NOT NULL
), result_column AS (
  SELECT f.oid AS function, a.attnum::pg_catalog.int8 AS ordinal, a.atttypid AS type, a.attname::text AS name
    FROM function f JOIN pg_catalog.pg_attribute a ON a.attrelid = f.result_relation
   WHERE a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT a.function, a.ordinal, a.type, a.name FROM argument a JOIN function f ON f.oid = a.function
   WHERE a.mode IN ('o', 'b', 't') AND f.result_relation IS NULL
), media_aggregate AS (
  SELECT p.*, pg_catalog.lower(r.typname::pg_catalog.text) AS media_type, NULLIF(row_type.typrelid, '0') AS relation,
         EXISTS (SELECT FROM pg_catalog.pg_proc f
                  WHERE f.provolatile = 'v'
                    AND (f.oid = a.aggtransfn::pg_catalog.oid OR f.oid = a.aggfinalfn::pg_catalog.oid)) AS is_volatile
    FROM pg_catalog.pg_aggregate a
    JOIN pg_catalog.pg_proc p ON p.oid = a.aggfnoid::pg_catalog.oid
    JOIN pg_catalog.pg_type r ON r.oid = p.prorettype
    JOIN pg_catalog.pg_type row_type ON row_type.oid = p.proargtypes[0]
   WHERE p.pronamespace = (SELECT oid FROM stage) AND p.pronargs = '1' AND a.aggkind = 'n'
     AND r.typtype = 'd' AND pg_catalog.strpos(r.typname::pg_catalog.text, '/') <> '0'
     AND (row_type.oid = ${typeOid('anyelement')} OR row_type.typrelid IN (SELECT oid FROM relation))
     AND ${executableByPublic('p')}
)`

/** The oids of the types that these name. */
export const FUNCTION_TYPES = `
SELECT type FROM argument UNION SELECT type FROM result_column UNION SELECT prorettype FROM function
UNION SELECT prorettype FROM media_aggregate`

/** One JSON array of the functions. */
export const FUNCTIONS = `
SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
  'name', f.proname, 'volatility', f.provolatile, 'set', f.proretset, 'type', f.prorettype::pg_catalog.text,
  'typeKind', f.result_kind,
  'relation', (SELECT r.relname FROM relation r WHERE r.oid = f.result_relation),
  'arguments', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', a.name, 'type', a.type::pg_catalog.text, 'variadic', a.mode = 'v',
      'optional', a.place > f.pronargs - f.pronargdefaults) ORDER BY a.place), '[]')
      FROM (SELECT argument.*, pg_catalog.row_number() OVER (ORDER BY ordinal) AS place
              FROM argument WHERE function = f.oid AND mode IN ('i', 'b', 'v')) a),
  'columns', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', c.name, 'type', c.type::pg_catalog.text) ORDER BY c.ordinal), '[]')
      FROM result_column c WHERE c.function = f.oid)
  ) ORDER BY f.proname, f.oid), '[]') FROM function f`
