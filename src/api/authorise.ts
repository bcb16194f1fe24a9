import type { Caller } from '../projects/access.ts'
import { assertMember, assertPermission, assertRoot } from '../projects/assert-permission.ts'
import type { Access } from './access.ts'
import type { MatchedPath } from './direct-routes.ts'

/**
 * Makes sure that the caller may make the call, as far as its route's declaration and its path show.
 *
 * @throws {AppError} NOT_FOUND where the caller is no member of the project; FORBIDDEN.
 */
export function authorise(caller: Caller, access: Access, params: MatchedPath['params']): void {
  if (access.by === 'root') assertRoot(caller)
  if (access.by === 'member') assertMember(caller, String(params[access.project]))
  if (access.by === 'permission') assertPermission(caller, String(params[access.project]), access.permission)
  // Visitors are let in by their own door, see `Route.admit`. What the others need stands in the body, or in the record of
  // what is named.
}
