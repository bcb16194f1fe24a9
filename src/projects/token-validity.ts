import { type AppError, unauthenticated } from '../errors.ts'

export const tokenNeeded = (): AppError => unauthenticated('a token is needed: Authorization: Bearer <token>')

/** Whether a token still counts, by the database's clock, so that all processes on all machines agree on it. */
export interface TokenState {
  readonly revoked: boolean
  readonly expired: boolean
}

/** The columns of a `TokenState`, of `control.token`. */
export const TOKEN_STATE = `
  token.revoked_at IS NOT NULL AS revoked, coalesce(token.expires_at <= statement_timestamp(), false) AS expired`

export const isValid = ({ revoked, expired }: TokenState): boolean => !revoked && !expired

/** @throws {AppError} UNAUTHENTICATED where a token is unknown, revoked or expired. */
export function assertValid(token: TokenState | undefined): asserts token {
  if (!token) throw unauthenticated('the token is not known here')
  if (token.revoked) throw unauthenticated('the token has been revoked')
  if (token.expired) throw unauthenticated('the token has expired')
}
