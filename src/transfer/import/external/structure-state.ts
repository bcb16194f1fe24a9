import { catalogOid } from '../../../database/catalog-oids.ts'
import type { Query } from '../../structure/query.ts'

/**
 * What tells whether the structure of a schema was changed since, by plain SQL of anybody's: every change leaves a row of
 * another transaction in one of these catalogs, or takes one away. What only writes rows, ANALYZE and VACUUM leave them alone.
 * Types, and checks of domains, count by what they are, since an import moves them out of the schema and back.
 *
 * @param query in a session of any login.
 */
export async function readStructureState(query: Query, schemaName: string): Promise<string> {
  const [row] = await query<{ state: string }>(STATE_SQL, [schemaName])
  return row?.state ?? ''
}

/** Catalogs whose rows are of one relation each, with the column that says of which. */
const OF_RELATIONS = [
  ['pg_attribute', 'attrelid', 'attnum'],
  ['pg_attrdef', 'adrelid', 'oid'],
  ['pg_index', 'indrelid', 'indexrelid'],
  ['pg_trigger', 'tgrelid', 'oid'],
  ['pg_rewrite', 'ev_class', 'oid'],
  ['pg_policy', 'polrelid', 'oid'],
  ['pg_inherits', 'inhrelid', 'inhparent'],
  ['pg_statistic_ext', 'stxrelid', 'oid'],
  ['pg_sequence', 'seqrelid', 'seqrelid'],
  ['pg_publication_rel', 'prrelid', 'oid'],
] as const

/** Catalogs whose rows are of the schema, with the column that says so. */
const OF_SCHEMAS = [
  ['pg_proc', 'pronamespace'],
  ['pg_operator', 'oprnamespace'],
  ['pg_collation', 'collnamespace'],
  ['pg_ts_config', 'cfgnamespace'],
  ['pg_ts_dict', 'dictnamespace'],
] as const

/** Catalogs whose rows are of something else in the schema: the column that says of what, what tells them apart, and where that is. */
const OF_OTHERS = [
  ['pg_enum', 'enumtypid', 'oid', 'pg_type', 'typnamespace'],
  ['pg_ts_config_map', 'mapcfg', 'mapseqno', 'pg_ts_config', 'cfgnamespace'],
  ['pg_cast', 'castsource', 'oid', 'pg_type', 'typnamespace'],
  ['pg_cast', 'casttarget', 'oid', 'pg_type', 'typnamespace'],
] as const

/** What a type `t` is, but for what rows of other catalogs say of it. */
export const TYPE_PART_SQL = `pg_catalog.concat_ws(' ', 'pg_type', t.oid, t.typowner, t.typtype, t.typelem, t.typnotnull,
             t.typbasetype, t.typtypmod, t.typndims, t.typcollation, t.typname, t.typdefault, t.typdefaultbin::text)`

/** What a constraint `k` of a domain is. */
export const DOMAIN_CONSTRAINT_PART_SQL = `pg_catalog.concat_ws(' ', 'pg_constraint', k.oid, k.contype, k.convalidated, k.conname, k.conbin::text)`

/** What comments are on: the catalog, and the column that says which schema, or which relation of it, its rows are of. */
const COMMENTED = [
  ['pg_class', 'relnamespace'],
  ['pg_type', 'typnamespace'],
  ['pg_constraint', 'connamespace'],
  ...OF_SCHEMAS,
  ['pg_trigger', 'tgrelid'],
  ['pg_rewrite', 'ev_class'],
  ['pg_policy', 'polrelid'],
  ['pg_statistic_ext', 'stxrelid'],
] as const

// Of relations, what CREATE INDEX, TRUNCATE and VACUUM FULL write to their own rows does not count.
const STATE_SQL = `
WITH schema AS (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name),
     relation AS (SELECT c.* FROM pg_catalog.pg_class c JOIN schema ON c.relnamespace = schema.oid)
SELECT pg_catalog.md5(pg_catalog.string_agg(part, E'\\n' ORDER BY part COLLATE "C")) AS state
  FROM (
    SELECT pg_catalog.concat_ws(' ', 'pg_class', oid, relname, relowner, relkind, relpersistence, relam, reltablespace,
             reloptions, relrowsecurity, relforcerowsecurity, relreplident, relispartition) AS part FROM relation
    UNION ALL SELECT ${TYPE_PART_SQL}
      FROM pg_catalog.pg_type t JOIN schema ON t.typnamespace = schema.oid
    UNION ALL SELECT CASE k.contypid WHEN '0' THEN pg_catalog.concat_ws(' ', 'pg_constraint', k.oid, k.xmin)
                          ELSE ${DOMAIN_CONSTRAINT_PART_SQL} END
      FROM pg_catalog.pg_constraint k JOIN schema ON k.connamespace = schema.oid
${OF_SCHEMAS.map(
  ([catalog, column]) => `
    UNION ALL SELECT pg_catalog.concat_ws(' ', '${catalog}', o.oid, o.xmin)
      FROM pg_catalog.${catalog} o JOIN schema ON o.${column} = schema.oid`,
).join('')}
${OF_RELATIONS.map(
  ([catalog, column, key]) => `
    UNION ALL SELECT pg_catalog.concat_ws(' ', '${catalog}', o.${column}, o.${key}, o.xmin)
      FROM pg_catalog.${catalog} o JOIN relation ON o.${column} = relation.oid`,
).join('')}
${OF_OTHERS.map(
  ([catalog, column, key, of, namespace]) => `
    UNION ALL SELECT pg_catalog.concat_ws(' ', '${catalog}', o.${column}, o.${key}, o.xmin)
      FROM schema JOIN pg_catalog.${of} p ON p.${namespace} = schema.oid JOIN pg_catalog.${catalog} o ON o.${column} = p.oid`,
).join('')}
${COMMENTED.map(
  ([catalog, column]) => `
    UNION ALL SELECT pg_catalog.concat_ws(' ', 'comment', d.classoid, d.objoid, d.objsubid, d.xmin)
      FROM (SELECT oid FROM schema UNION ALL SELECT oid FROM relation) parent
      JOIN pg_catalog.${catalog} o ON o.${column} = parent.oid
      JOIN pg_catalog.pg_description d
        ON d.classoid = ${catalogOid(catalog)} AND d.objoid = o.oid`,
).join('')}
  ) parts`
