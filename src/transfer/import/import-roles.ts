import type { LineContent } from '../../archive/lines.ts'
import type { RoleLeftOut } from '../../contract/import.ts'
import { PERMISSIONS, type Permission, type Role } from '../../contract/role.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Caller } from '../../projects/access.ts'
import { allows, toPermissions } from '../../projects/permissions.ts'
import { listRoles, rolesInUse, setRole } from '../../projects/roles.ts'
import type { TargetProject } from './targets.ts'

/** The role of requests without a token. */
const PUBLIC = 'public'

/** What an import does to the roles of a project. */
export interface RolePlan {
  /** These, as they are then. */
  readonly set: readonly Role[]
  /** By name; one that a token has got meanwhile stays nevertheless. */
  readonly remove: readonly string[]
  readonly leftOut: readonly RoleLeftOut[]
}

/**
 * Finds out what an import does to the roles of a project: of each role, it gives and takes those permissions that its
 * caller has there; all others stay as they are. So nobody gets from an import, or loses by it, what its caller could
 * not do. The role of requests without a token is the root
 * token's alone.
 *
 * @param present the project's roles now.
 * @param archived those of the archive. A line that does not say whether its role has a permission leaves it as it is.
 * @param inUse names of roles that stay, since tokens have them: an import takes nobody's access away without a word.
 * @param project slug.
 */
export function planRoles(
  present: readonly Role[],
  inUse: ReadonlySet<string>,
  archived: readonly LineContent<'role'>[],
  caller: Caller,
  project: string,
): RolePlan {
  const own = caller.kind === 'root' ? undefined : caller.roles.get(project)
  const mayChange = (role: string, permission: Permission): boolean =>
    caller.kind === 'root' || (role !== PUBLIC && own !== undefined && allows(own, permission))

  const set: Role[] = []
  const leftOut: RoleLeftOut[] = []
  const report = (role: string, wanted: (permission: Permission) => boolean, has: typeof wanted): void => {
    const notGiven = PERMISSIONS.filter((permission) => wanted(permission) && !has(permission))
    const notTaken = PERMISSIONS.filter((permission) => has(permission) && !wanted(permission))
    if (notGiven.length + notTaken.length > 0) leftOut.push({ role, notGiven, notTaken })
  }

  for (const line of archived) {
    const { name } = line
    const before = present.find((role) => role.name === name)
    const has = (permission: Permission): boolean => before !== undefined && allows(before, permission)
    const wanted = (permission: Permission): boolean => saysOf(line, permission) ?? has(permission)
    const isOurs = before !== undefined || PERMISSIONS.some((permission) => mayChange(name, permission))
    const becomes = (permission: Permission): boolean =>
      mayChange(name, permission) ? wanted(permission) : has(permission)
    if (isOurs) set.push({ name, ...toPermissions(becomes) })
    report(name, wanted, becomes)
  }

  const names = new Set(archived.map(({ name }) => name))
  const surplus = present.filter(({ name }) => !names.has(name))
  const isRemovable = (role: Role): boolean =>
    !inUse.has(role.name) &&
    PERMISSIONS.every((permission) => mayChange(role.name, permission) || !allows(role, permission))
  for (const role of surplus) {
    if (!isRemovable(role))
      report(
        role.name,
        () => false,
        (permission) => allows(role, permission),
      )
  }
  return { set, remove: surplus.filter(isRemovable).map(({ name }) => name), leftOut }
}

/** The same for a target; undefined where it keeps its own roles, as the archive has none. */
export const planRolesOf = async (
  control: Queryable,
  { archived, project }: TargetProject,
  caller: Caller,
): Promise<RolePlan | undefined> => {
  if (!archived.system) return undefined
  const [present, inUse] = [await listRoles(control, project.id), await rolesInUse(control, project.id)]
  return planRoles(present, inUse, archived.roles, caller, project.slug)
}

/** @returns undefined where the line was written before there was such a permission. */
function saysOf({ content, system }: LineContent<'role'>, permission: Permission): boolean | undefined {
  return permission === 'content.structure'
    ? content.structure
    : allows({ content: { ...content, structure: false }, system }, permission)
}

/** Makes a project's roles those that were planned. */
export async function applyRoles(tx: Transaction, projectId: string, { set, remove }: RolePlan): Promise<void> {
  for (const role of set) await setRole(tx, projectId, role)
  const name = { in: [...remove] }
  await tx.membership.deleteMany({ where: { projectId, role: { name }, token: { revokedAt: { not: null } } } })
  await tx.role.deleteMany({ where: { projectId, name, memberships: { none: {} } } })
}

/**
 * Keeps the roles of some projects as they are until the transaction ends, so that what was planned from them is still
 * what is meant when it is done. In one order for everybody, so that no two imports wait for each other.
 */
export async function lockRoles(tx: Transaction, projectIds: readonly string[]): Promise<void> {
  if (projectIds.length === 0) return
  await tx.$queryRaw`
    SELECT 1 FROM control.role WHERE project_id::text = ANY (${[...projectIds]}) ORDER BY id FOR NO KEY UPDATE`
}
