import type { ObjectKey } from './dependencies.ts'
import type { Query } from './query.ts'

export interface TableRow {
  readonly oid: string
  readonly key: ObjectKey
  readonly name: string
  /** Why lines can't describe it whatever it consists of, e.g. since it is a partition. */
  readonly obstacle: string | null
  readonly unlogged: boolean
  readonly toasted: boolean
  readonly options: string[]
  readonly replica_identity: 'default' | 'nothing' | 'full' | 'index'
  readonly comment: string | null
}

export interface ConstraintRow {
  readonly key: ObjectKey
  readonly table_oid: string
  readonly kind: 'primary key' | 'unique' | 'check' | 'foreign key' | 'exclusion'
  readonly name: string
  readonly definition: string
  readonly references_table: string | null
  readonly index_options: string[]
  readonly clustered: boolean
  readonly replica_identity: boolean
  readonly comment: string | null
}

export interface IndexRow {
  readonly key: ObjectKey
  readonly table_oid: string
  readonly name: string
  readonly definition: string
  readonly valid: boolean
  readonly clustered: boolean
  readonly replica_identity: boolean
  readonly comment: string | null
}

export interface TableRows {
  readonly tables: readonly TableRow[]
  readonly constraints: readonly ConstraintRow[]
  readonly indexes: readonly IndexRow[]
}

/** Reads the schema's ordinary tables with their constraints, and the indexes that are not behind a constraint. */
export async function readTables(query: Query, schemaOid: string): Promise<TableRows> {
  return {
    tables: await query<TableRow>(TABLES_SQL, [schemaOid]),
    constraints: await query<ConstraintRow>(CONSTRAINTS_SQL, [schemaOid]),
    indexes: await query<IndexRow>(INDEXES_SQL, [schemaOid]),
  }
}

const TABLES_SQL = `
SELECT c.oid::text AS oid, 'pg_class:' || c.oid AS key, c.relname::text AS name,
       CASE WHEN NOT pg_catalog.pg_table_is_visible(c.oid) THEN 'a table that PostgreSQL brings has the same name'
            WHEN c.relispartition THEN 'it is a partition of another table'
            WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid)
              THEN 'it inherits from another table'
            WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid)
              THEN 'other tables inherit from it'
            WHEN c.reloftype <> 0 THEN 'it is a table of a composite type'
            WHEN m.amname <> 'heap' THEN 'it uses the access method ' || m.amname
        END AS obstacle,
       c.relpersistence = 'u' AS unlogged,
       -- NULL for a relation that is not there: 0 is none, and one may just have been dropped.
       COALESCE(pg_catalog.pg_relation_size(c.reltoastrelid) > 0, false) AS toasted,
       COALESCE(c.reloptions, '{}')
         || ARRAY(SELECT 'toast.' || o FROM pg_catalog.unnest(toast.reloptions) o) AS options,
       CASE c.relreplident WHEN 'n' THEN 'nothing' WHEN 'f' THEN 'full' WHEN 'i' THEN 'index' ELSE 'default' END
         AS replica_identity,
       pg_catalog.obj_description(c.oid, 'pg_class') AS comment
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_class toast ON toast.oid = c.reltoastrelid
  LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind = 'r'
 ORDER BY c.relname`

const CONSTRAINTS_SQL = `
SELECT 'pg_constraint:' || k.oid AS key, k.conrelid::text AS table_oid,
       CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'c' THEN 'check'
                      WHEN 'f' THEN 'foreign key' ELSE 'exclusion' END AS kind,
       k.conname::text AS name, pg_catalog.pg_get_constraintdef(k.oid) AS definition,
       target.relname::text AS references_table,
       COALESCE(own_index.reloptions, '{}') AS index_options,
       COALESCE(i.indisclustered, false) AS clustered,
       COALESCE(i.indisreplident, false) AS replica_identity,
       pg_catalog.obj_description(k.oid, 'pg_constraint') AS comment
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  LEFT JOIN pg_catalog.pg_class target ON target.oid = k.confrelid
  LEFT JOIN pg_catalog.pg_class own_index ON own_index.oid = k.conindid AND k.contype IN ('p', 'u')
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = k.conindid AND k.contype IN ('p', 'u', 'x')
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind = 'r' AND k.contype IN ('p', 'u', 'c', 'f', 'x')
 ORDER BY k.conrelid, k.conname`

const INDEXES_SQL = `
SELECT 'pg_class:' || x.oid AS key, i.indrelid::text AS table_oid, x.relname::text AS name,
       pg_catalog.pg_get_indexdef(x.oid, 0, true) AS definition,
       i.indisvalid AND i.indisready AS valid,
       i.indisclustered AS clustered, i.indisreplident AS replica_identity,
       pg_catalog.obj_description(x.oid, 'pg_class') AS comment
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
 WHERE c.relnamespace = $1::pg_catalog.oid AND c.relkind = 'r'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k
                    WHERE k.conindid = x.oid AND k.contype IN ('p', 'u', 'x'))
 ORDER BY i.indrelid, x.relname`
