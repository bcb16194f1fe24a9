import type { Permission } from '../contract/role.ts'
import { unauthenticated } from '../errors.ts'
import type { Caller } from '../projects/access.ts'
import { assertMember, assertPermission, assertPermissionSomewhere, assertRoot } from '../projects/assert-permission.ts'
import type { MatchedPath } from './direct-routes.ts'

/**
 * Who may make a call, as its route declares it. `anyone`, `token`, `root`, `member`, `permission` and `somewhere` are enforced
 * before anything else of the request is looked at; the others depend on what the request names, and are enforced by the
 * handler.
 */
export type Access =
  /** With a token or without one. */
  | { readonly by: 'anyone' }
  /** Every token that is valid; what it is shown depends on what it may know of. */
  | { readonly by: 'token' }
  /** The root token alone. */
  | { readonly by: 'root' }
  /** Tokens with any role in the project that the parameter names; for all others there is no such project. */
  | { readonly by: 'member'; readonly project: string }
  /** Members whose role has the permission in the project that the parameter names. */
  | { readonly by: 'permission'; readonly permission: Permission; readonly project: string }
  /** The same, and requests without a token, whose role is `public` where the project has a role of that name. */
  | { readonly by: 'visitor'; readonly permission: 'content.read' | 'content.write'; readonly project: string }
  /** Tokens with the permission in some project, before it is known which one is meant. */
  | { readonly by: 'somewhere'; readonly permission: Permission }
  /** The token that began the upload, and the root token; for all others there is no such upload. */
  | { readonly by: 'sender' }
  /** Members of every project that the request names, each with the permissions that the request needs there. */
  | { readonly by: 'request'; readonly permissions: readonly Permission[]; readonly system: readonly Permission[] }
  /** The token that made the thing, and those that may ask for the same today. For all others there is no such thing. */
  | { readonly by: 'viewer'; readonly of: Authored }
  /** Of those that see the thing, the ones that may ask for the same today. */
  | { readonly by: 'asker'; readonly of: Authored }
  /** Of those that see the thing, the token that made it, and the root token. */
  | { readonly by: 'author'; readonly of: Authored }

/** Whether a call needs a token, takes one, or looks at none. */
export const authOf = ({ by }: Access): 'token' | 'optional' | 'none' =>
  by === 'anyone' ? 'none' : by === 'visitor' ? 'optional' : 'token'

/** What is done in the name of the token that asked for it. */
export type Authored = 'job' | 'schedule'

/** The same in words, for the description of the interface. */
export function describeAccess(access: Access): string {
  switch (access.by) {
    case 'anyone':
      return 'Needs no token.'
    case 'token':
      return 'Needs a token.'
    case 'root':
      return 'Needs the root token.'
    case 'member':
      return 'Needs a token with a role in the project.'
    case 'permission':
      return `Needs \`${access.permission}\` in the project.`
    case 'visitor':
      return `Needs \`${access.permission}\` in the project; requests without a token have the role \`public\`, where there is one.`
    case 'somewhere':
      return `Needs \`${access.permission}\` in a project, whichever.`
    case 'sender':
      return 'Needs the token that began the upload, or the root token; for all others there is none.'
    case 'request':
      return (
        `Needs ${toList(access.permissions)} in the projects of this server that the request names, and ` +
        `${toList(access.system)} where it asks for the system section.`
      )
    case 'viewer':
      return `Needs the token that made the ${access.of}, or one that may ask for the same.`
    case 'asker':
      return `Needs a token that may ask for the same ${access.of} now.`
    case 'author':
      return `Needs the token in whose name the ${access.of} runs, or the root token; all others are answered 403, or 404 where they may not see it.`
  }
}

const toList = (permissions: readonly Permission[]): string => permissions.map((each) => `\`${each}\``).join(' and ')

/**
 * Makes sure that the caller may make the call, as far as its route's declaration and its path show.
 *
 * @throws {AppError} NOT_FOUND where the caller is no member of the project; FORBIDDEN.
 */
export function authorise(caller: Caller, access: Access, params: MatchedPath['params']): void {
  if (access.by === 'root') assertRoot(caller)
  if (access.by === 'member') assertMember(caller, String(params[access.project]))
  if (access.by === 'permission') assertPermission(caller, String(params[access.project]), access.permission)
  if (access.by === 'somewhere') assertPermissionSomewhere(caller, access.permission)
  // Visitors are let in by their own door, see `Route.admit`. What the others need stands in the body, or in the record of
  // what is named.
}

const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/**
 * Reads the token of an `Authorization` header (RFC 6750, section 2.1).
 *
 * @returns undefined where there is no such header.
 * @throws {AppError} UNAUTHENTICATED for a header of another form; it is never quoted.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw unauthenticated('the Authorization header must have the form "Bearer <token>"')
  return token
}
