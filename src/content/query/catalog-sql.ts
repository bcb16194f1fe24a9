import { catalogOid, PG_CATALOG_OID, typeOid } from '../../database/catalog-oids.ts'
import { FUNCTION_PARTS, FUNCTION_TYPES, FUNCTIONS } from './function-catalog-sql.ts'
import { unseenRelations } from './unseen-sql.ts'

/** The names of a table's columns by their numbers, in that order. */
const columnNames = (table: string, numbers: string): string => `(
        SELECT pg_catalog.json_agg(a.attname ORDER BY k.ordinal)
          FROM pg_catalog.unnest(${numbers}) WITH ORDINALITY AS k(attnum, ordinal)
          JOIN pg_catalog.pg_attribute a ON a.attrelid = ${table} AND a.attnum = k.attnum)`

/** The bits of `pg_relation_is_updatable` for UPDATE, INSERT and DELETE, as it gives them for every table. */
const ALL_WRITES = 0b11100

/** A function for SQL text. */
const functionName = "pg_catalog.format('%I.%I', n.nspname, p.proname)"

/** The function of PostGIS that takes a whole row: the extension's own, as anybody may have made another of its name. */
const TO_FEATURE = `
    SELECT ${functionName} FROM pg_catalog.pg_extension e
      JOIN pg_catalog.pg_depend d ON d.refclassid = ${catalogOid('pg_extension')} AND d.refobjid = e.oid
       AND d.classid = ${catalogOid('pg_proc')} AND d.deptype = 'e'
      JOIN pg_catalog.pg_proc p ON p.oid = d.objid
      JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
     WHERE e.extname = 'postgis' AND p.proname = 'st_asgeojson' AND p.proargtypes[0] = ${typeOid('record')}`

/**
 * Reads a schema's tables, keys, functions and types, as one JSON text, so that every driver
 * gives it alike; NULL where there is no such schema. Oids are text, being larger than an int4 at times.
 *
 * Of views it has the rules, from which follows which columns of which tables they show.
 */
export const CATALOG_SQL = `
WITH RECURSIVE stage AS (
  SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::pg_catalog.text
), relation AS (
  SELECT c.oid, c.relname, c.relkind FROM pg_catalog.pg_class c
   WHERE c.relnamespace = (SELECT oid FROM stage) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
), attribute AS (
  SELECT a.* FROM pg_catalog.pg_attribute a JOIN relation r ON r.oid = a.attrelid
   WHERE a.attnum > 0 AND NOT a.attisdropped
), ${FUNCTION_PARTS}, named AS (
  SELECT atttypid AS oid FROM attribute UNION ${FUNCTION_TYPES}
), reached AS (
  SELECT r.oid FROM relation r
  UNION
  SELECT d.refobjid FROM reached s
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = s.oid AND w.ev_type = '1'
    JOIN pg_catalog.pg_depend d ON d.classid = ${catalogOid('pg_rewrite')} AND d.objid = w.oid
   WHERE d.refclassid = ${catalogOid('pg_class')}
), locked AS (
  -- To ask whether a view can be written to is to wait for who has locked what it reads; PostgreSQL says so of each write, too.
  SELECT EXISTS (
    SELECT FROM pg_catalog.pg_locks l
     WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.relation IN (SELECT oid FROM reached)) AS found
), computed AS (
  SELECT p.*, row_type.typrelid AS relation FROM function p
    JOIN pg_catalog.pg_type row_type ON row_type.oid = p.proargtypes[0]
   WHERE p.pronargs = '1' AND row_type.typrelid IN (SELECT oid FROM relation)
), type AS (
  SELECT t.* FROM pg_catalog.pg_type t
   WHERE (t.typnamespace = ${PG_CATALOG_OID} AND t.typtype IN ('b', 'e', 'd', 'r', 'm'))
      OR t.typnamespace = (SELECT oid FROM stage)
      OR t.oid IN (SELECT oid FROM named)
      OR t.oid IN (SELECT u.typarray FROM pg_catalog.pg_type u JOIN named ON u.oid = named.oid)
      OR t.oid IN (SELECT u.typbasetype FROM pg_catalog.pg_type u JOIN named ON u.oid = named.oid)
), ${unseenRelations('(SELECT oid FROM stage)')}
SELECT CASE WHEN EXISTS (SELECT FROM stage) THEN pg_catalog.json_build_object(
  'tables', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', r.oid::pg_catalog.text, 'name', r.relname, 'kind', r.relkind, 'comment', pg_catalog.obj_description(r.oid, 'pg_class'),
      'unseen', r.oid IN (SELECT oid FROM unseen_relation),
      'updatable', CASE
        WHEN r.relkind IN ('r', 'p') OR (r.relkind = 'v' AND (SELECT found FROM locked)) THEN ${ALL_WRITES}
        WHEN r.relkind = 'v' THEN pg_catalog.pg_relation_is_updatable(r.oid, true)
        ELSE 0 END,
      'columns', (
        SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
          'name', a.attname, 'number', a.attnum, 'type', a.atttypid::pg_catalog.text,
          'declaredType', pg_catalog.format_type(a.atttypid, a.atttypmod),
          'nullable', NOT (a.attnotnull OR t.typnotnull), 'hasDefault', a.atthasdef AND a.attgenerated = '',
          'generated', a.attgenerated <> '',
          'identity', CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' END,
          'comment', pg_catalog.col_description(a.attrelid, a.attnum)) ORDER BY a.attnum), '[]')
          FROM attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE a.attrelid = r.oid),
      'keys', (
        SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
          'primary', i.indisprimary, 'immediate', i.indimmediate,
          'columns', (
            SELECT pg_catalog.json_agg(a.attname ORDER BY k.ordinal)
              FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS k(attnum, ordinal)
              JOIN attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum
             WHERE k.ordinal <= i.indnkeyatts)) ORDER BY i.indisprimary DESC, i.indexrelid), '[]')
          FROM pg_catalog.pg_index i
         WHERE i.indrelid = r.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL)
      ) ORDER BY r.relname), '[]') FROM relation r),
  'foreignKeys', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', f.conname,
      'table', f.conrelid::pg_catalog.text, 'numbers', pg_catalog.to_json(f.conkey), 'columns', ${columnNames('f.conrelid', 'f.conkey')},
      'foreignTable', f.confrelid::pg_catalog.text, 'foreignNumbers', pg_catalog.to_json(f.confkey),
      'foreignColumns', ${columnNames('f.confrelid', 'f.confkey')},
      'unique', EXISTS (
        SELECT FROM pg_catalog.pg_constraint u
         WHERE u.conrelid = f.conrelid AND u.contype IN ('p', 'u')
           AND u.conkey OPERATOR(pg_catalog.@>) f.conkey AND u.conkey OPERATOR(pg_catalog.<@) f.conkey)
      ) ORDER BY near.relname, f.conname), '[]')
      FROM pg_catalog.pg_constraint f
      JOIN pg_catalog.pg_class near ON near.oid = f.conrelid
     WHERE f.contype = 'f' AND f.conparentid = '0'
       AND f.conrelid IN (SELECT oid FROM reached) AND f.confrelid IN (SELECT oid FROM reached)),
  'callable', (${FUNCTIONS}),
  'mediaAggregates', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'mediaType', p.media_type, 'sql', ${functionName}, 'type', p.prorettype::pg_catalog.text, 'volatile', p.is_volatile,
      'table', (SELECT r.relname FROM relation r WHERE r.oid = p.relation)) ORDER BY p.proname, p.oid), '[]')
      FROM media_aggregate p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace),
  'toFeature', (${TO_FEATURE}),
  'primaryKeys', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'table', k.conrelid::pg_catalog.text, 'numbers', pg_catalog.to_json(k.conkey)) ORDER BY k.conrelid), '[]')
      FROM pg_catalog.pg_constraint k WHERE k.contype = 'p' AND k.conrelid IN (SELECT oid FROM reached)),
  'views', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', w.ev_class::pg_catalog.text, 'rule', w.ev_action::pg_catalog.text)), '[]')
      FROM pg_catalog.pg_rewrite w WHERE w.ev_type = '1' AND w.ev_class IN (SELECT oid FROM reached)),
  'computed', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', p.proname, 'sql', ${functionName}, 'table', p.relation::pg_catalog.text, 'type', t.oid::pg_catalog.text,
      'foreignTable', NULLIF(t.typrelid, '0')::pg_catalog.text, 'returnsSet', p.proretset,
      'toOne', NOT p.proretset OR p.prorows = '1', 'volatile', p.provolatile = 'v') ORDER BY p.proname, p.oid), '[]')
      FROM computed p JOIN type t ON t.oid = p.prorettype AND t.typtype <> 'p' JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace),
  'casts', (
    SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
      'domain', CASE WHEN source.typtype = 'd' THEN source.oid ELSE target.oid END::pg_catalog.text,
      'direction', CASE WHEN source.typtype = 'd' THEN 'to' ELSE 'from' END,
      'other', CASE WHEN source.typtype = 'd' THEN target.typname ELSE source.typname END,
      'sql', ${functionName}, 'volatile', p.provolatile = 'v')), '[]')
      FROM pg_catalog.pg_cast c
      JOIN type source ON source.oid = c.castsource
      JOIN type target ON target.oid = c.casttarget
      JOIN pg_catalog.pg_proc p ON p.oid = c.castfunc JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
     WHERE c.castcontext = 'i' AND c.castmethod = 'f'
       AND (source.typtype = 'd' AND target.oid IN (${typeOid('json')}, ${typeOid('text')})
         OR target.typtype = 'd' AND source.oid IN (${typeOid('json')}, ${typeOid('text')}))),
  'types', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', t.oid::pg_catalog.text, 'schema', n.nspname, 'name', t.typname,
      'written', CASE WHEN n.nspname = 'pg_catalog' THEN pg_catalog.format_type(t.oid, NULL) ELSE t.typname::text END,
      'kind', t.typtype, 'category', t.typcategory,
      'array', NULLIF(t.typarray, '0')::pg_catalog.text, 'element', NULLIF(t.typelem, '0')::pg_catalog.text,
      'base', NULLIF(t.typbasetype, '0')::pg_catalog.text) ORDER BY t.oid)
      FROM type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace)
)::pg_catalog.text END AS catalog`
