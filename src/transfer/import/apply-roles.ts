import type { Transaction } from '../../database/database.ts'
import { setRole } from '../../projects/roles.ts'
import type { RolePlan } from './plan-roles.ts'

/**
 * Makes a project's roles those that were planned. A role that is to be removed stays where a usable token has it: an
 * import takes nobody's access away without saying so.
 */
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
export async function holdRoles(tx: Transaction, projectIds: readonly string[]): Promise<void> {
  if (projectIds.length === 0) return
  await tx.$queryRaw`
    SELECT 1 FROM control.role WHERE project_id::text = ANY (${[...projectIds]}) ORDER BY id FOR NO KEY UPDATE`
}
