import { PG_CATALOG_OID } from '../../database/catalog-oids.ts'
import { FUNCTION_PARTS, FUNCTION_TYPES, FUNCTIONS } from './function-catalog-sql.ts'
import { unseenRelations } from './unseen-sql.ts'

/**
 * Reads a schema's tables, keys, functions and types, as one JSON text, so that every driver gives it alike; NULL where there is no
 * such schema. Oids are text, being larger than an int4 at times.
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
      'name', r.relname, 'kind', r.relkind, 'comment', pg_catalog.obj_description(r.oid, 'pg_class'),
      'unseen', r.oid IN (SELECT oid FROM unseen_relation),
      'columns', (
        SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object(
          'name', a.attname, 'type', a.atttypid::pg_catalog.text,
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
      'name', f.conname, 'table', near.relname, 'foreignTable', far.relname,
      'columns', (
        SELECT pg_catalog.json_agg(a.attname ORDER BY k.ordinal)
          FROM pg_catalog.unnest(f.conkey) WITH ORDINALITY AS k(attnum, ordinal)
          JOIN attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum),
      'foreignColumns', (
        SELECT pg_catalog.json_agg(a.attname ORDER BY k.ordinal)
          FROM pg_catalog.unnest(f.confkey) WITH ORDINALITY AS k(attnum, ordinal)
          JOIN attribute a ON a.attrelid = f.confrelid AND a.attnum = k.attnum)
      ) ORDER BY near.relname, f.conname), '[]')
      FROM pg_catalog.pg_constraint f
      JOIN relation near ON near.oid = f.conrelid
      JOIN relation far ON far.oid = f.confrelid
     WHERE f.contype = 'f' AND f.conparentid = '0'),
  'callable', (${FUNCTIONS}),
  'types', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', t.oid::pg_catalog.text, 'schema', n.nspname, 'name', t.typname,
      'written', CASE WHEN n.nspname = 'pg_catalog' THEN pg_catalog.format_type(t.oid, NULL) ELSE t.typname::text END,
      'kind', t.typtype, 'category', t.typcategory,
      'array', NULLIF(t.typarray, '0')::pg_catalog.text, 'element', NULLIF(t.typelem, '0')::pg_catalog.text,
      'base', NULLIF(t.typbasetype, '0')::pg_catalog.text) ORDER BY t.oid)
      FROM type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace)
)::pg_catalog.text END AS catalog`
