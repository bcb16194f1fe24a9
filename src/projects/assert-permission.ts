import type { Permission } from '../contract/role.ts'
import { type AppError, forbidden, notFound } from '../errors.ts'
import type { Caller } from './access.ts'
import { allows } from './permissions.ts'

/**
 * Makes sure that the caller may know of a project at all.
 *
 * @throws {AppError} NOT_FOUND, so that a project one is no member of cannot be distinguished from one that does not exist.
 */
export function assertMember(caller: Caller, projectSlug: string): void {
  if (caller.kind === 'token' && !caller.roles.has(projectSlug)) throw notFound('project', projectSlug)
}

/**
 * Makes sure that the caller may do something in a project.
 *
 * @throws {AppError} NOT_FOUND where the caller is no member; FORBIDDEN, naming the permission that is missing.
 */
export function assertPermission(caller: Caller, projectSlug: string, permission: Permission): void {
  if (caller.kind === 'root') return
  const role = caller.roles.get(projectSlug)
  if (!role) throw notFound('project', projectSlug)
  if (!allows(role, permission)) throw permissionMissing(role.name, projectSlug, permission)
}

/**
 * Makes sure that the caller may do something in one project at least, before it is known in which.
 *
 * @throws {AppError} FORBIDDEN
 */
export function assertPermissionSomewhere(caller: Caller, permission: Permission): void {
  if (caller.kind === 'root' || [...caller.roles.values()].some((role) => allows(role, permission))) return
  throw forbidden(`the token has the permission ${permission} in no project`)
}

export const permissionMissing = (role: string, project: string, permission: Permission): AppError =>
  forbidden(`role "${role}" in project "${project}" lacks the permission ${permission}`)

/**
 * Makes sure that the caller may export a project or import into it, with its roles and its event log where `system`.
 *
 * @throws {AppError} NOT_FOUND, FORBIDDEN, as `assertPermission`.
 */
export function assertMayMove(caller: Caller, verb: 'export' | 'import', project: string, system: boolean): void {
  assertPermission(caller, project, `content.${verb}`)
  if (system) assertPermission(caller, project, `system.${verb}`)
}

/** @throws {AppError} FORBIDDEN for every caller but the root token. */
export function assertRoot(caller: Caller): void {
  if (caller.kind !== 'root') throw forbidden('only the root token may do this')
}

/**
 * Makes sure that something is changed by the token that it belongs to. Tokens that may only see it must not be able to
 * take it away from that one.
 *
 * @param createdBy the token in whose name the thing is done; null for the root token.
 * @param thing what it is, in words: `job`, `schedule`.
 * @throws {AppError} FORBIDDEN for every other token, but for the root token.
 */
export function assertAuthor(caller: Caller, createdBy: string | null, thing: string): void {
  if (caller.kind === 'root' || caller.tokenId === createdBy) return
  throw forbidden(`only the token in whose name the ${thing} runs, and the root token, may do this`)
}
