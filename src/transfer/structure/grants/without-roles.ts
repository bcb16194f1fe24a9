import type { StructureLines } from '../create-statements.ts'
import type { OrderedLine } from '../lines.ts'
import { compareText } from '../query.ts'
import { type GrantedObject, isByItself, nameOf, type ObjectGrants, privilegesOf } from './grants.ts'

/** Something that is said of a role, and left out. */
export interface LeftOut {
  readonly kind: 'grant' | 'policy'
  readonly name: string
  readonly detail: string
}

/** Rights on an object that are left out. */
export const leftOutGrant = (object: GrantedObject, detail: string): LeftOut => ({
  kind: 'grant',
  name: nameOf(object),
  detail,
})

/** Why nothing can be said of a role; undefined where it can. */
export type ReasonAgainst = (role: string) => string | undefined

/** The names of all roles that rights or policies are for. */
export const rolesIn = (grants: readonly ObjectGrants[], { inOrder }: StructureLines): readonly string[] => [
  ...new Set([
    ...grants.flatMap((object) => object.grants.flatMap(({ to }) => (typeof to === 'object' ? [to.role] : []))),
    ...inOrder.flatMap((line) =>
      line.kind === 'policy' ? (line.content.roles ?? []).flatMap((role) => (role === 'owner' ? [] : [role.role])) : [],
    ),
  ]),
]

/** Rights, without those of roles that are refused. */
export function grantsWithoutRoles(
  grants: readonly ObjectGrants[],
  reasonAgainst: ReasonAgainst,
): { readonly grants: readonly ObjectGrants[]; readonly leftOut: readonly LeftOut[] } {
  const leftOut: LeftOut[] = []
  const kept = grants.map((object) => ({
    ...object,
    grants: object.grants.filter((grant) => {
      const reason = typeof grant.to === 'object' ? reasonAgainst(grant.to.role) : undefined
      if (reason === undefined || typeof grant.to !== 'object') return true
      leftOut.push(leftOutGrant(object, `${privilegesOf(grant)} to ${grant.to.role}: ${reason}`))
      return false
    }),
  }))
  return { grants: kept.filter((object) => !isByItself(object)), leftOut }
}

/**
 * A line, without the roles that are refused. A policy that is for no other role is none: it would be for nobody, and
 * one for everybody would be another policy.
 */
export function policyWithoutRoles(
  line: OrderedLine,
  reasonAgainst: ReasonAgainst,
): { readonly line: OrderedLine | undefined; readonly leftOut: readonly LeftOut[] } {
  if (line.kind !== 'policy' || line.content.roles === undefined) return { line, leftOut: [] }
  const { name, table, roles } = line.content
  const leftOut: LeftOut[] = []
  const kept = roles.filter((role) => {
    const reason = role === 'owner' ? undefined : reasonAgainst(role.role)
    if (reason === undefined || role === 'owner') return true
    leftOut.push({ kind: 'policy', name: `${table}.${name}`, detail: `it is for ${role.role}: ${reason}` })
    return false
  })
  // In the order in which the catalogs are read.
  kept.sort((a, b) => (a === 'owner' ? -1 : b === 'owner' ? 1 : compareText(a.role, b.role)))
  return { line: kept.length === 0 ? undefined : { ...line, content: { ...line.content, roles: kept } }, leftOut }
}
