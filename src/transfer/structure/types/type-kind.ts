import type { ObjectKey } from '../dependencies.ts'
import type { Facts, TypeLine } from '../lines.ts'

/** What all kinds of type have in common, as read from the catalogs. */
export interface TypeRow<Content> {
  readonly key: ObjectKey
  readonly name: string
  /** False where a built-in type of the same name hides it. */
  readonly visible: boolean
  readonly line: Content
}

type ContentOf<Kind extends TypeLine['kind']> = Extract<TypeLine, { readonly kind: Kind }>['content']

/** A kind of type: how it is read, made and compared. */
export interface TypeKind<Kind extends TypeLine['kind']> {
  /** What people call it. */
  readonly noun: string
  /** Reads those of the schema whose OID is `$1`. */
  readonly sql: string
  /** The statement that makes it. @param name quoted. */
  create(name: string, content: ContentOf<Kind>): string
  /** What it is given once all types are there. */
  complete?(name: string, content: ContentOf<Kind>): string[]
  /** What decides about which rows fit. */
  facts(content: ContentOf<Kind>): Facts
}

/** What every kind selects, from `pg_type t`. */
export const typeColumns = (line: string): string => `
       'pg_type:' || t.oid::text AS key, t.typname::text AS name, pg_catalog.pg_type_is_visible(t.oid) AS visible,
       ${line} AS line`

export const TYPE_COMMENT = `pg_catalog.obj_description(t.oid, 'pg_type')`
