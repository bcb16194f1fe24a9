import type { Transaction } from '../../database/database.ts'
import type { Role } from '../../projects/permissions.ts'
import { listRoles, setRole } from '../../projects/roles.ts'

/**
 * Makes a project's roles those of an archive. A role that the archive lacks is deleted, unless a usable token has it:
 * an import takes nobody's access away without saying so.
 */
export async function applyRoles(tx: Transaction, projectId: string, roles: readonly Role[]): Promise<void> {
  for (const role of roles) await setRole(tx, projectId, role)
  const names = new Set(roles.map(({ name }) => name))
  const surplus = (await listRoles(tx, projectId)).filter(({ name }) => !names.has(name))
  await tx.membership.deleteMany({
    where: { projectId, role: { name: { in: surplus.map(({ name }) => name) } }, token: { revokedAt: { not: null } } },
  })
  await tx.role.deleteMany({
    where: { projectId, name: { in: surplus.map(({ name }) => name) }, memberships: { none: {} } },
  })
}
