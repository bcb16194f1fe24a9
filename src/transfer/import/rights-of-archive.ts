import type { FindRoles } from '../../projects/role-names.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import { describedBy } from '../structure/grants/described.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import {
  grantsWithoutRoles,
  type LeftOut,
  leftOutGrant,
  policyWithoutRoles,
  type ReasonAgainst,
  rolesIn,
} from '../structure/grants/without-roles.ts'
import type { ArchiveStage } from './archive-lists.ts'

/** What PostgreSQL knows since a version: earlier ones are not asked for it. */
const SINCE_17 = 'MAINTAIN'

/** What an archive says of roles, as far as its target has them. */
export interface KnownRights {
  readonly structure: StructureLines
  /** Undefined where the archive says nothing of them. */
  readonly grants: readonly ObjectGrants[] | undefined
  readonly leftOut: readonly LeftOut[]
}

/**
 * Leaves out of an archive what it says of roles that the server does not have, and of logins of Wharf's: an archive gives
 * no project anything in another.
 */
export async function knownRights(
  findRoles: FindRoles,
  { structure, grants }: Pick<ArchiveStage, 'structure' | 'grants'>,
): Promise<KnownRights> {
  const reasonAgainst = await reasonsAgainst(findRoles, rolesIn(grants ?? [], structure))
  const leftOut: LeftOut[] = []
  const inOrder = structure.inOrder.flatMap((line) => {
    const known = policyWithoutRoles(line, reasonAgainst)
    leftOut.push(...known.leftOut)
    return known.line ?? []
  })
  const given = grants && grantsWithoutRoles(grants, reasonAgainst)
  return {
    structure: { ...structure, inOrder },
    grants: given?.grants,
    leftOut: [...leftOut, ...(given?.leftOut ?? [])],
  }
}

/** Why an import says nothing of some of these roles. */
export async function reasonsAgainst(findRoles: FindRoles, roles: readonly string[]): Promise<ReasonAgainst> {
  const { existing, logins } = await findRoles(roles)
  return (role) => {
    if (logins.has(role)) return 'it is a login of Wharf, which an archive gives nothing'
    return existing.has(role) ? undefined : 'there is no such role'
  }
}

/** Leaves out rights on what a stage will not have, and those that its PostgreSQL does not know. */
export function rightsIn(
  lines: StructureLines,
  grants: readonly ObjectGrants[],
  version: number,
): { readonly grants: readonly ObjectGrants[]; readonly leftOut: readonly LeftOut[] } {
  const isDescribed = describedBy(lines)
  const unknown = grants.filter((object) => !isDescribed(object))
  const known = grants.filter(isDescribed)
  const later = version >= 17 ? [] : known.filter(({ grants: given }) => given.some(mentionsLater))
  return {
    grants: version >= 17 ? known : known.map(withoutLater),
    leftOut: [
      ...unknown.map((object) =>
        leftOutGrant(object, `the stage has no such ${object.column === undefined ? object.object : 'column'}`),
      ),
      ...later.map((object) => leftOutGrant(object, `${SINCE_17}: PostgreSQL ${version} does not know it`)),
    ],
  }
}

type Given = ObjectGrants['grants'][number]

const mentionsLater = ({ privileges, grantable }: Given): boolean =>
  privileges.includes(SINCE_17) || grantable.includes(SINCE_17)

const withoutLater = (object: ObjectGrants): ObjectGrants => ({
  ...object,
  grants: object.grants.map(({ to, privileges, grantable }) => ({
    to,
    privileges: privileges.filter((privilege) => privilege !== SINCE_17),
    grantable: grantable.filter((privilege) => privilege !== SINCE_17),
  })),
})
