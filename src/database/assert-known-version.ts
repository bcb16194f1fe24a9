import { databaseUnsuitable } from '../errors.ts'

/** The oldest major version whose databases Wharf reads and writes where they are not its own. */
export const OLDEST_VERSION = 14

/**
 * @param version as a server says it of itself, such as `18.1 (Debian 18.1-1)`. Newer ones than Wharf was tried on are let
 *   through.
 * @throws {AppError} DATABASE_UNSUITABLE
 */
export function assertKnownVersion(version: string): void {
  if (Number.parseInt(version, 10) >= OLDEST_VERSION) return
  throw databaseUnsuitable(
    `PostgreSQL ${OLDEST_VERSION} or newer is needed, and the server says that it is ${version || 'something else'}`,
  )
}
