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
  switch (access.by) {
    case 'root':
      assertRoot(caller)
      break
    case 'member':
      assertMember(caller, String(params[access.project]))
      break
    case 'permission':
      assertPermission(caller, String(params[access.project]), access.permission)
      break
    case 'anyone':
    case 'token':
    // Let in by their own door, see `Route.admit`.
    case 'visitor':
    // What these need stands in the body, or in the record of what is named.
    case 'request':
    case 'viewer':
    case 'asker':
    case 'author':
      break
  }
}
