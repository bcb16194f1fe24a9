import type { ObjectLineKind as Kind, LineInput } from '../../../archive/lines.ts'
import { PG_CATALOG_OID } from '../../../database/catalog-oids.ts'
import type { ObjectKey } from '../dependencies.ts'

export type ObjectLineOf<K extends Kind> = LineInput<K>

/** What all kinds of object have in common, as read from the catalogs. */
export interface ObjectRow<K extends Kind = Kind> {
  readonly key: ObjectKey
  /** What people call it: with the types of its arguments, or behind the table that it is of. */
  readonly name: string
  /** Why no line can describe it, whatever it needs. */
  readonly blocker: string | null
  readonly line: ObjectLineOf<K>
}

/** A kind of object beside types, sequences and tables: how it is read and made. */
export interface ObjectKind<K extends Kind> {
  /** What people call it. */
  readonly noun: string | ((line: ObjectLineOf<K>) => string)
  /** Reads those of the schema whose OID is `$1`: the columns of `ObjectRow`. */
  readonly sql: string
  /** What the line is, where that is more than the row says. */
  toLine?(row: ObjectRow<K>): ObjectLineOf<K>
  /** Names it among its kind. */
  nameOf(line: ObjectLineOf<K>): string
  /** The statements that make it. */
  create(line: ObjectLineOf<K>): readonly string[]
  /** What is done once everything else is there. */
  complete?(line: ObjectLineOf<K>): readonly string[]
  /** The last thing that is done, before the stage gets this schema. */
  settle?(line: ObjectLineOf<K>, schemaName: string): readonly string[]
  /** The statement that drops it, if it is still there. */
  drop(line: ObjectLineOf<K>): string
}

/** Whether an object `o` is none that comes with an extension. */
export const IS_OWN_SQL = `NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                    WHERE e.classid = o.tableoid AND e.objid = o.oid AND e.deptype = 'e')`

/**
 * SQL of the name of a function of the stage, of an extension or of PostgreSQL itself, without its schema: `regproc` writes
 * the schema before the name that several functions have. NULL for no function. @param oid SQL.
 */
export const functionNameSql = (oid: string): string =>
  `(SELECT CASE WHEN f.pronamespace IN ($1::pg_catalog.oid, ${PG_CATALOG_OID})
                 OR pg_catalog.pg_function_is_visible(f.oid)
               THEN pg_catalog.quote_ident(f.proname::text) ELSE f.oid::pg_catalog.regproc::text END
     FROM pg_catalog.pg_proc f WHERE f.oid = ${oid}::pg_catalog.oid)`

/** `enabled` of a line, from a column of the catalogs. */
export const enabledSql = (column: string): string =>
  `CASE ${column} WHEN 'O' THEN 'origin' WHEN 'D' THEN 'disabled' WHEN 'R' THEN 'replica' ELSE 'always' END`

type Enabled = ObjectLineOf<'trigger'>['enabled']

/** How `ALTER TABLE` says when a trigger or a rule acts; undefined where it does by itself. */
export const ENABLE: Readonly<Record<Enabled, string | undefined>> = {
  origin: undefined,
  disabled: 'DISABLE',
  replica: 'ENABLE REPLICA',
  always: 'ENABLE ALWAYS',
}
