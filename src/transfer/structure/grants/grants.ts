import { isDeepStrictEqual } from 'node:util'
import type { LineContent, LineInput } from '../../../archive/lines.ts'

/** What rights are on; `new …` stands for what will be made in the schema (`ALTER DEFAULT PRIVILEGES IN SCHEMA`). */
export type GrantedKind = LineContent<'grants'>['object']

/** `public` is everybody; `owner` the login that owns the object, which is the project's. */
export type Grantee = 'owner' | 'public' | { readonly role: string }

/** In PostgreSQL's words, such as `SELECT`. */
export type Privilege = LineContent<'grants'>['grants'][number]['privileges'][number]

/** What one grantee may do with an object. */
export interface Grant {
  readonly to: Grantee
  /** Those that it may not grant to others. */
  readonly privileges: readonly Privilege[]
  /** Those that it may grant to others. */
  readonly grantable: readonly Privilege[]
}

/** What tells an object from all others of its schema. Tables are also views and materialized views. */
export interface GrantedObject {
  readonly object: GrantedKind
  /** None for the schema itself, and for what will be made in it. */
  readonly name?: string
  /** Of a function, as `pg_get_function_identity_arguments` prints them. */
  readonly arguments?: string
  /** Of a table. */
  readonly column?: string
}

/**
 * All rights on an object. The owner is among the grants only where it has not just the rights that owners have by
 * themselves.
 */
export interface ObjectGrants extends GrantedObject {
  readonly grants: readonly Grant[]
}

export const keyOf = ({ object, name, arguments: types, column }: GrantedObject): string =>
  JSON.stringify([object, name ?? null, types ?? null, column ?? null])

/** The line that has the rights of an object. */
export const toGrantsLine = ({ grants, ...object }: ObjectGrants): LineInput<'grants'> => ({
  ...object,
  grants: grants.map(({ to, privileges, grantable }) => ({
    to,
    privileges: [...privileges],
    grantable: [...grantable],
  })),
})

/** What people call an object. */
export function nameOf({ object, name, arguments: types, column }: GrantedObject): string {
  if (name === undefined) return object === 'schema' ? "the stage's schema" : object
  return `${name}${types === undefined ? '' : `(${types})`}${column === undefined ? '' : `.${column}`}`
}

/** What people call a grantee. */
export const granteeName = (to: Grantee): string =>
  typeof to === 'object' ? to.role : to === 'public' ? 'everybody' : 'its owner'

/** `SELECT, INSERT` */
export const privilegesOf = ({ privileges, grantable }: Grant): string => [...privileges, ...grantable].join(', ')

/** What everybody may do with a new object by PostgreSQL's own rules. */
const BY_ITSELF: Partial<Record<GrantedKind, readonly Grant[]>> = {
  function: [{ to: 'public', privileges: ['EXECUTE'], grantable: [] }],
  type: [{ to: 'public', privileges: ['USAGE'], grantable: [] }],
}

/** The rights that PostgreSQL gives on a new object by itself. */
export const rightsByItself = (object: GrantedObject): readonly Grant[] => BY_ITSELF[object.object] ?? []

export const isByItself = (object: ObjectGrants): boolean => sameGrants(object.grants, rightsByItself(object))

/** Whether two lists say the same, in whatever order. */
export const sameGrants = (a: readonly Grant[], b: readonly Grant[]): boolean =>
  isDeepStrictEqual(new Set(a.map(textOf)), new Set(b.map(textOf)))

const textOf = ({ to, privileges, grantable }: Grant): string =>
  JSON.stringify([to, privileges.toSorted(), grantable.toSorted()])
