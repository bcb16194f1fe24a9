import { catalogOid } from '../../../database/catalog-oids.ts'
import { quoteIdentifier, quoteQualified } from '../../../database/quoting.ts'
import { IS_OWN_SQL } from '../../structure/objects/object-kind.ts'
import type { Query } from '../../structure/query.ts'
import { DOMAIN_CONSTRAINT_PART_SQL, TYPE_PART_SQL } from './structure-state.ts'

/*
 * Types of a stage stay where they are when an import takes the places of everything else in it: a client that has prepared
 * a statement with such a column or parameter knows the type by its OID.
 */

/** An enum, a domain or a composite type of a stage. */
export interface StageType {
  readonly oid: string
  readonly name: string
}

/**
 * The types of a schema that can stay while all else in it is replaced by the like: they need nothing that is replaced, and
 * nothing that there can be only once belongs to them. Those that nothing there uses are not among them, since nobody could
 * tell afterwards whose they are.
 *
 * @param except names of types that cannot stay for another reason.
 */
export const readLastingTypes = (
  query: Query,
  schemaName: string,
  except: readonly string[],
): Promise<readonly StageType[]> => query<StageType>(LASTING_SQL, [schemaName, except])

/**
 * The types of a schema that something in another schema needs, itself or by another such type: they stay when the one takes
 * the place of the other.
 */
export const readUsedTypes = (query: Query, schemaName: string, by: string): Promise<readonly StageType[]> =>
  query<StageType>(USED_SQL, [schemaName, by, []])

/**
 * What tells whether the types have become others that two schemas share when the one has taken the place of the other: what
 * is done to such a type is done to the rows of both.
 *
 * @param by the schema that takes the place, or has to come back.
 */
export async function readSharedTypesState(query: Query, schemaName: string, by: string): Promise<string> {
  const staying = await readUsedTypes(query, schemaName, by)
  const oids = staying.map(({ oid }) => oid)
  const used = await query<StageType>(USED_SQL, [schemaName, schemaName, oids])
  const shared = oids.filter((oid) => used.some((each) => each.oid === oid))
  const [row] = await query<{ state: string | null }>(STATE_SQL, [shared])
  return row?.state ?? ''
}

/** The statements that move types into another schema. */
export const moveTypes = (types: readonly StageType[], from: string, to: string): readonly string[] =>
  types.map(({ name }) => `ALTER TYPE ${quoteQualified(from, name)} SET SCHEMA ${quoteIdentifier(to)}`)

const TYPE_CLASS = catalogOid('pg_type')
const RELATION_CLASS = catalogOid('pg_class')
const CONSTRAINT_CLASS = catalogOid('pg_constraint')

/**
 * `candidate`: types of the schema that can be moved at all; `part`: with what is made and dropped with them; `need`: what they
 * depend on, and which other candidate that belongs to. PostgreSQL knows how to find what depends on something: OFFSET 0 keeps
 * it from reading all of `pg_depend` instead.
 */
const PARTS_SQL = `
     candidate AS MATERIALIZED (
       SELECT o.oid, o.typname, o.typarray, o.typrelid
         FROM pg_catalog.pg_type o JOIN pg_catalog.pg_namespace n ON n.oid = o.typnamespace
        WHERE n.nspname = $1::pg_catalog.name AND ${IS_OWN_SQL}
          AND (o.typtype IN ('e', 'd') OR o.typtype = 'c' AND EXISTS (
                SELECT FROM pg_catalog.pg_class c WHERE c.oid = o.typrelid AND c.relkind = 'c'))
     ),
     part AS MATERIALIZED (
       SELECT oid AS of, ${TYPE_CLASS} AS class, oid FROM candidate
        UNION ALL SELECT oid, ${TYPE_CLASS}, typarray FROM candidate WHERE typarray <> '0'
        UNION ALL SELECT oid, ${RELATION_CLASS}, typrelid FROM candidate WHERE typrelid <> '0'
        UNION ALL SELECT c.oid, ${CONSTRAINT_CLASS}, k.oid
                    FROM candidate c JOIN pg_catalog.pg_constraint k ON k.contypid = c.oid
     ),
     need AS MATERIALIZED (
       SELECT part.of, d.refclassid AS class, d.refobjid AS oid, d.refobjsubid AS number, other.of AS on_type
         FROM part
        CROSS JOIN LATERAL (
                SELECT * FROM pg_catalog.pg_depend WHERE classid = part.class AND objid = part.oid OFFSET 0
              ) d
         LEFT JOIN part other ON other.class = d.refclassid AND other.oid = d.refobjid
        WHERE d.refobjid >= '16384' AND d.refclassid <> ${catalogOid('pg_namespace')}
     )`

/** What depends on the candidates, but for their own parts and those of the types whose OIDs `staying` selects. */
const directUses = (staying: string, by: string): string => `
       SELECT part.of
         FROM part
        CROSS JOIN LATERAL (
                SELECT classid, objid, objsubid FROM pg_catalog.pg_depend
                 WHERE refclassid = part.class AND refobjid = part.oid AND deptype <> 'i' OFFSET 0
              ) d
         LEFT JOIN part own ON own.class = d.classid AND own.oid = d.objid AND (own.of = part.of OR own.of IN (${staying}))
         LEFT JOIN pg_catalog.pg_class c ON d.classid = ${RELATION_CLASS} AND c.oid = d.objid
         LEFT JOIN pg_catalog.pg_type t ON d.classid = ${TYPE_CLASS} AND t.oid = d.objid
         LEFT JOIN pg_catalog.pg_constraint k ON d.classid = ${CONSTRAINT_CLASS} AND k.oid = d.objid
         LEFT JOIN pg_catalog.pg_namespace n ON n.oid = COALESCE(c.relnamespace, t.typnamespace, k.connamespace)
        WHERE own.of IS NULL
          AND ${by} = COALESCE(n.nspname,
                        (pg_catalog.pg_identify_object_as_address(d.classid, d.objid, d.objsubid)).object_names[1])`

/** With the types that those need, which `uses` names. */
const used = (uses: string): string => `
     used AS (
       ${uses}
        UNION SELECT need.on_type FROM used JOIN need ON need.of = used.of WHERE need.on_type IS NOT NULL
     )`

const USED_SQL = `
WITH RECURSIVE ${PARTS_SQL}, ${used(directUses('SELECT pg_catalog.unnest($3::text[]::pg_catalog.oid[])', '$2::pg_catalog.name'))}
SELECT c.oid::text AS oid, c.typname::text AS name FROM candidate c
 WHERE c.oid IN (SELECT of FROM used) ORDER BY c.oid`

// What is NOT VALID is checked for whatever is loaded, if it is there by then. There is one cast, and one transform, from one
// type to another.
const LASTING_SQL = `
WITH RECURSIVE ${PARTS_SQL},
     bound AS (
       SELECT need.of FROM need
        WHERE on_type IS NULL
          AND (pg_catalog.pg_identify_object(class, oid, number)).schema = pg_catalog.quote_ident($1::text)
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = class AND e.objid = need.oid AND e.deptype = 'e')
        UNION
       SELECT part.of FROM part JOIN pg_catalog.pg_cast k ON part.oid IN (k.castsource, k.casttarget)
        WHERE part.class = ${TYPE_CLASS} AND k.oid >= '16384'
        UNION
       SELECT part.of FROM part JOIN pg_catalog.pg_transform f ON part.oid = f.trftype WHERE part.class = ${TYPE_CLASS}
        UNION
       SELECT k.contypid FROM candidate c JOIN pg_catalog.pg_constraint k ON k.contypid = c.oid WHERE NOT k.convalidated
        UNION
       SELECT oid FROM candidate WHERE typname::text = ANY ($2::text[])
        UNION
       SELECT need.of FROM bound JOIN need ON need.on_type = bound.of
     ),
     lasting AS MATERIALIZED (SELECT oid FROM candidate WHERE oid NOT IN (SELECT of FROM bound)),
     ${used(directUses('SELECT oid FROM lasting', '$1::pg_catalog.name'))}
SELECT c.oid::text AS oid, c.typname::text AS name FROM candidate c
 WHERE c.oid IN (SELECT oid FROM lasting) AND c.oid IN (SELECT of FROM used) ORDER BY c.oid`

/** By OID; where a type is gone, it is missing. */
const STATE_SQL = `
WITH type AS MATERIALIZED (
       SELECT t.*, n.nspname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        WHERE t.oid = ANY ($1::text[]::pg_catalog.oid[])
     )
SELECT pg_catalog.md5(pg_catalog.string_agg(part, E'\\n' ORDER BY part COLLATE "C")) AS state
  FROM (
    SELECT pg_catalog.concat_ws(' ', t.nspname, ${TYPE_PART_SQL}, t.typacl, pg_catalog.obj_description(t.oid, 'pg_type')) AS part
      FROM type t
    UNION ALL SELECT pg_catalog.concat_ws(' ', 'pg_enum', e.oid, e.enumsortorder, e.enumlabel)
      FROM type t JOIN pg_catalog.pg_enum e ON e.enumtypid = t.oid
    UNION ALL SELECT pg_catalog.concat_ws(' ', 'pg_attribute', a.attrelid, a.attnum, a.xmin)
      FROM type t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
    UNION ALL SELECT ${DOMAIN_CONSTRAINT_PART_SQL}
      FROM type t JOIN pg_catalog.pg_constraint k ON k.contypid = t.oid
    UNION ALL SELECT pg_catalog.concat_ws(' ', 'pg_cast', t.oid, c.oid, c.xmin)
      FROM type t JOIN pg_catalog.pg_cast c ON c.castsource IN (t.oid, t.typarray) OR c.casttarget IN (t.oid, t.typarray)
     WHERE c.oid >= '16384'
  ) parts`
