import { unauthenticated } from '../errors.ts'

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
