import { catalogOid } from '../../database/catalog-oids.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { commentOn } from '../structure/clauses.ts'

/** A constraint that is dropped, and made again. */
export interface SetAside {
  readonly noun: 'TABLE' | 'DOMAIN'
  /** The table or domain, with its schema, quoted. */
  readonly of: string
  readonly name: string
  readonly definition: string
  /** The same, as it can be made where rows are missing; null where it cannot. */
  readonly unchecked: string | null
  /** On it, and on the constraints that partitions have because of it. */
  readonly comments: readonly { readonly name: string; readonly of: string; readonly comment: string }[]
  /** The same constraints of tables that inherit it, where it is NOT VALID and they were validated by themselves. */
  readonly validated: readonly { readonly name: string; readonly of: string }[]
}

/**
 * The statements that make it again.
 *
 * @param withRows false where rows are missing to which others refer: they are not looked at then.
 */
export function makeAgain(
  { noun, of, name, definition, unchecked, comments, validated }: SetAside,
  withRows: boolean,
): readonly string[] {
  const made = withRows ? definition : unchecked
  if (made === null) return []
  const ofDomain = noun === 'TABLE' ? '' : 'DOMAIN '
  return [
    `ALTER ${noun} ${of} ADD CONSTRAINT ${quoteIdentifier(name)} ${made}`,
    ...validated.map((each) => `ALTER TABLE ${each.of} VALIDATE CONSTRAINT ${quoteIdentifier(each.name)}`),
    ...comments.flatMap((each) =>
      commentOn(`CONSTRAINT ${quoteIdentifier(each.name)} ON ${ofDomain}${each.of}`, each.comment),
    ),
  ]
}

/**
 * Foreign keys and constraints that are NOT VALID of the first schema of the session's `search_path`.
 *
 * Foreign keys also of tables that have no lines, and of other schemas: nothing can be truncated that is referred to. What
 * is inherited goes, and comes, with what it is inherited from.
 */
export const SET_ASIDE_SQL = `
SELECT 'TABLE' AS noun, pg_catalog.format('%I.%I', n.nspname, c.relname) AS of, k.conname::text AS name,
       pg_catalog.pg_get_constraintdef(k.oid) AS definition,
       -- Before version 18, a partitioned table has no foreign key that is NOT VALID.
       CASE WHEN NOT k.convalidated OR k.contype <> 'f' THEN pg_catalog.pg_get_constraintdef(k.oid)
            WHEN c.relkind <> 'p' OR pg_catalog.current_setting('server_version_num')::integer >= 180000
              THEN pg_catalog.pg_get_constraintdef(k.oid) || ' NOT VALID' END AS unchecked,
       (WITH RECURSIVE family AS (
          SELECT k.oid, k.conname, k.conrelid
           UNION ALL
          SELECT m.oid, m.conname, m.conrelid FROM family f JOIN pg_catalog.pg_constraint m ON m.conparentid = f.oid
        )
        SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object('name', f.conname,
                 'of', pg_catalog.format('%I.%I', fn.nspname, fc.relname), 'comment', d.description)), '[]')
          FROM family f
          JOIN pg_catalog.pg_description d
            ON d.classoid = ${catalogOid('pg_constraint')} AND d.objoid = f.oid
          JOIN pg_catalog.pg_class fc ON fc.oid = f.conrelid
          JOIN pg_catalog.pg_namespace fn ON fn.oid = fc.relnamespace) AS comments,
       (WITH RECURSIVE heirs AS (
          SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE i.inhparent = k.conrelid
           UNION
          SELECT i.inhrelid FROM heirs h JOIN pg_catalog.pg_inherits i ON i.inhparent = h.oid
        )
        SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object('name', m.conname,
                 'of', pg_catalog.format('%I.%I', hn.nspname, hc.relname)) ORDER BY m.oid), '[]')
          FROM heirs h
          JOIN pg_catalog.pg_constraint m ON m.conrelid = h.oid AND m.contype = k.contype AND m.conname = k.conname
          JOIN pg_catalog.pg_class hc ON hc.oid = h.oid
          JOIN pg_catalog.pg_namespace hn ON hn.oid = hc.relnamespace
         WHERE NOT k.convalidated AND k.contype <> 'f' AND m.convalidated AND NOT m.conislocal) AS validated,
       k.coninhcount AS inherited, k.oid
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_class target ON target.oid = k.confrelid
 WHERE pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))::pg_catalog.oid IN (n.oid, target.relnamespace)
   AND k.conparentid = '0' AND k.conislocal
   AND (k.contype = 'f' OR (k.contype IN ('c', 'n') AND NOT k.convalidated))
 UNION ALL
SELECT 'DOMAIN', pg_catalog.format('%I.%I', n.nspname, t.typname), k.conname::text,
       pg_catalog.pg_get_constraintdef(k.oid), pg_catalog.pg_get_constraintdef(k.oid),
       COALESCE((SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', k.conname,
                          'of', pg_catalog.format('%I.%I', n.nspname, t.typname), 'comment', d.description))
                   FROM pg_catalog.pg_description d
                  WHERE d.classoid = ${catalogOid('pg_constraint')} AND d.objoid = k.oid), '[]'), '[]', 0, k.oid
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_type t ON t.oid = k.contypid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE n.oid = pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))::pg_catalog.oid
   AND k.contype = 'c' AND NOT k.convalidated
 ORDER BY inherited, oid`
