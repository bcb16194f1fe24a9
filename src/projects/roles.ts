import type { Permissions, Role } from '../contract/role.ts'
import type { Queryable } from '../database/database.ts'
import type { Role as Row } from '../database/generated/client.ts'
import { conflict, notFound } from '../errors.ts'
import { unlessOwnerDeleted } from './deleted-meanwhile.ts'

/** A role as its table has it: one column for each permission. */
export type RoleRow = Omit<Row, 'id' | 'projectId'>

export const toRole = (row: RoleRow): Role => ({
  name: row.name,
  content: {
    read: row.contentRead,
    write: row.contentWrite,
    export: row.contentExport,
    import: row.contentImport,
    structure: row.contentStructure,
  },
  system: { export: row.systemExport, import: row.systemImport },
})

export const fromPermissions = ({ content, system }: Permissions): Omit<RoleRow, 'name'> => ({
  contentRead: content.read,
  contentWrite: content.write,
  contentExport: content.export,
  contentImport: content.import,
  contentStructure: content.structure,
  systemExport: system.export,
  systemImport: system.import,
})

/** A project's roles, by name. */
export async function listRoles(control: Queryable, projectId: string): Promise<readonly Role[]> {
  const rows = await control.role.findMany({ where: { projectId }, orderBy: { name: 'asc' } })
  return rows.map(toRole)
}

/** The names of a project's roles that a token has which is not revoked. */
export async function rolesInUse(control: Queryable, projectId: string): Promise<ReadonlySet<string>> {
  const memberships = { some: { token: { revokedAt: null } } }
  const rows = await control.role.findMany({ where: { projectId, memberships }, select: { name: true } })
  return new Set(rows.map(({ name }) => name))
}

/**
 * Creates the role, or replaces what it allows; tokens that have it are under the new rules from their next request.
 *
 * @throws {AppError} NOT_FOUND where the project was deleted meanwhile.
 */
export async function setRole(control: Queryable, projectId: string, role: Role): Promise<Role> {
  const permissions = fromPermissions(role)
  const set = control.role.upsert({
    where: { projectId_name: { projectId, name: role.name } },
    create: { projectId, name: role.name, ...permissions },
    update: permissions,
  })
  const row = await unlessOwnerDeleted('the project', set)
  return toRole(row)
}

/**
 * Deletes a role that no usable token has.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT, naming the tokens that have it.
 */
export async function deleteRole(control: Queryable, projectId: string, name: string): Promise<void> {
  const role = await control.role.findUnique({
    where: { projectId_name: { projectId, name } },
    include: { memberships: { include: { token: true } } },
  })
  if (!role) throw notFound('role', name)
  const tokens = role.memberships.filter(({ token }) => token.revokedAt === null)
  if (tokens.length > 0) {
    const faults = tokens.map(({ token }) => ({ detail: `token "${token.name}" (${token.id}) has it` }))
    throw conflict(`role "${name}" is in use; revoke the tokens that have it first`, faults)
  }
  await control.membership.deleteMany({ where: { roleId: role.id } })
  const { count } = await control.role.deleteMany({ where: { id: role.id } })
  // Somebody else has deleted it since it was found.
  if (count === 0) throw notFound('role', name)
}
