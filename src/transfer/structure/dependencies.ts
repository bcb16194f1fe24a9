import { catalogOid, PG_CATALOG_OID } from '../../database/catalog-oids.ts'
import type { Query } from './query.ts'

/** An object of the catalogs: the catalog and the object's OID there, e.g. `pg_class:16402`. */
export type ObjectKey = `${string}:${string}`

/** That `object` needs `on`, as `pg_depend` has it. */
export interface Dependency {
  readonly object: ObjectKey
  readonly on: ObjectKey
  /** `n`ormal, `a`utomatic (goes with the other), `i`nternal (is a part of the other), member of an `e`xtension. */
  readonly kind: 'n' | 'a' | 'i' | 'e'
}

/**
 * What the schema's relations, types, constraints, defaults and functions depend on, without what PostgreSQL itself
 * brings (OIDs below 16384, and collations of `pg_catalog`).
 *
 * Three kinds of dependency are told apart here that `pg_depend` does not tell apart:
 * - what only a domain's default needs is put down to `domain default:<oid>`, since a domain can do without;
 * - collations of table columns are left out, since a column can do without;
 * - a row type that a built-in type hides is not said to be part of its table, since its name can't be written.
 */
export const readDependencies = (query: Query, schemaOid: string): Promise<Dependency[]> =>
  query<Dependency>(DEPENDENCIES_SQL, [schemaOid])

// From the schema's objects to what they depend on, and once: the planner knows nothing of a new schema, and would
// otherwise look for all of them again for each dependency in the whole database (OFFSET 0 keeps it from that).
const DEPENDENCIES_SQL = `
WITH object AS MATERIALIZED (
  SELECT ${catalogOid('pg_class')} AS class, oid, relkind::text AS kind
    FROM pg_catalog.pg_class WHERE relnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_type')}, oid, NULL FROM pg_catalog.pg_type
   WHERE typnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_constraint')}, oid, NULL FROM pg_catalog.pg_constraint
   WHERE connamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_proc')}, oid, NULL FROM pg_catalog.pg_proc
   WHERE pronamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_attrdef')}, d.oid, NULL
    FROM pg_catalog.pg_attrdef d JOIN pg_catalog.pg_class c ON c.oid = d.adrelid
   WHERE c.relnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_rewrite')}, r.oid, NULL
    FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
   WHERE c.relnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_trigger')}, t.oid, NULL
    FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
   WHERE c.relnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_policy')}, p.oid, NULL
    FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
   WHERE c.relnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_operator')}, oid, NULL
    FROM pg_catalog.pg_operator WHERE oprnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_cast')}, k.oid, NULL
    FROM pg_catalog.pg_cast k
   WHERE k.oid >= '16384' AND EXISTS (
           SELECT FROM pg_catalog.pg_type t
            WHERE t.oid IN (k.castsource, k.casttarget) AND t.typnamespace = $1::pg_catalog.oid)
  UNION ALL
  SELECT ${catalogOid('pg_ts_dict')}, oid, NULL
    FROM pg_catalog.pg_ts_dict WHERE dictnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_ts_config')}, oid, NULL
    FROM pg_catalog.pg_ts_config WHERE cfgnamespace = $1::pg_catalog.oid
  UNION ALL
  SELECT ${catalogOid('pg_statistic_ext')}, oid, NULL
    FROM pg_catalog.pg_statistic_ext WHERE stxnamespace = $1::pg_catalog.oid
)
SELECT DISTINCT
       CASE WHEN t.typtype = 'd' AND d.deptype = 'n' AND d.refobjid NOT IN (t.typbasetype, t.typcollation)
            THEN 'domain default' ELSE object_class.relname::text END || ':' || d.objid::text AS object,
       on_class.relname::text || ':' || d.refobjid::text AS "on",
       d.deptype::text AS kind
  FROM object o
  CROSS JOIN LATERAL (
    SELECT * FROM pg_catalog.pg_depend WHERE classid = o.class AND objid = o.oid OFFSET 0
  ) d
  JOIN pg_catalog.pg_class object_class ON object_class.oid = d.classid
  JOIN pg_catalog.pg_class on_class ON on_class.oid = d.refclassid
  LEFT JOIN pg_catalog.pg_type t ON t.oid = d.objid AND d.classid = ${catalogOid('pg_type')}
  LEFT JOIN pg_catalog.pg_collation l
    ON l.oid = d.refobjid AND d.refclassid = ${catalogOid('pg_collation')}
 WHERE d.refobjid >= '16384'
   AND d.refclassid <> ${catalogOid('pg_namespace')}
   AND d.deptype IN ('n', 'a', 'i', 'e')
   AND l.collnamespace IS DISTINCT FROM ${PG_CATALOG_OID}
   AND NOT (l.oid IS NOT NULL AND COALESCE(o.kind IN ('r', 'p'), false))
   AND NOT (d.deptype = 'i' AND t.oid IS NOT NULL AND t.typelem = '0' AND NOT pg_catalog.pg_type_is_visible(t.oid))`

/** What a part belongs to: an array type to its element's, a row type to its table, a key's index to the key. */
export type WholeOf = (part: ObjectKey) => ObjectKey

/** Tells of each object what whole it is a part of; of one that is no part, itself. */
export function wholes(dependencies: readonly Dependency[]): WholeOf {
  // A partitioned table is a part of itself, by the columns of its key.
  const parts = dependencies.filter(({ kind, object, on }) => kind === 'i' && object !== on)
  const internal = new Map(parts.map(({ object, on }) => [object, on]))
  return (part) => {
    let whole = part
    for (let next = internal.get(whole); next !== undefined; next = internal.get(whole)) whole = next
    return whole
  }
}

/** What archives can describe, as far as the objects' own properties tell. */
export interface Candidates {
  readonly sequences: ReadonlySet<ObjectKey>
  /** All, sequences too. */
  readonly all: ReadonlySet<ObjectKey>
}

/**
 * Finds the candidates that can't be described after all, since they need something that isn't described: a function,
 * an extension, a table of another schema, or another candidate for which this is so.
 *
 * @returns for each of them, what it needs.
 */
export function findBlockers(
  { all, sequences }: Candidates,
  dependencies: readonly Dependency[],
): Map<ObjectKey, ObjectKey> {
  const whole = wholes(dependencies)
  const needs = dependencies
    .map(({ object, on, kind }) => ({
      object: all.has(object) ? object : whole(object),
      on: whole(on),
      part: on,
      kind,
    }))
    .filter(({ object, on }) => all.has(object) && object !== on)
    // A sequence goes with the column that owns it, but does not need it.
    .filter(({ object, kind }) => !(sequences.has(object) && kind === 'a'))

  const blockers = new Map<ObjectKey, ObjectKey>()
  for (let found = -1; found !== blockers.size; ) {
    found = blockers.size
    for (const { object, on, part } of needs) {
      if (!blockers.has(object) && (!all.has(on) || blockers.has(on))) blockers.set(object, part)
    }
  }
  return blockers
}

export type Needs = ReadonlyMap<ObjectKey, ReadonlySet<ObjectKey>>

/** What each object needs, without the parts of others: the wholes that these belong to. */
export function neededBy(dependencies: readonly Dependency[]): Needs {
  const whole = wholes(dependencies)
  const needs = new Map<ObjectKey, Set<ObjectKey>>()
  const add = (object: ObjectKey, on: ObjectKey): void => {
    if (object !== on) needs.set(object, (needs.get(object) ?? new Set()).add(on))
  }
  for (const { object, on } of dependencies) {
    add(object, whole(on))
    add(whole(object), whole(on))
  }
  return needs
}

/** Names objects for people, e.g. `function slug(text)`. */
export async function readDescriptions(query: Query, keys: Iterable<ObjectKey>): Promise<Map<ObjectKey, string>> {
  const objects = [...new Set(keys)].map((key) => ({ class: key.split(':')[0], oid: key.split(':')[1] }))
  if (objects.length === 0) return new Map()
  const rows = await query<{ key: ObjectKey; description: string }>(
    `SELECT o.class || ':' || o.oid AS key,
            pg_catalog.pg_describe_object(('pg_catalog.' || o.class)::pg_catalog.regclass,
                                          o.oid::pg_catalog.oid, 0) AS description
       FROM pg_catalog.json_to_recordset($1::pg_catalog.json) AS o(class text, oid text)`,
    [JSON.stringify(objects)],
  )
  return new Map(rows.map(({ key, description }) => [key, description]))
}
