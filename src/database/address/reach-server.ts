import type { Logger } from '../../logger.ts'
import { PasswordMissing } from '../client-config.ts'
import { openSession } from '../session-client.ts'
import { SQLSTATE, sqlState } from '../sqlstate.ts'
import { connectFailure, isEncryptionFailure } from './connect-failure.ts'
import type { ServerChoice, ServerConnection } from './server-connection.ts'

export interface ReachOptions {
  /** What PostgreSQL calls the session, where the address does not say. */
  readonly applicationName: string
  readonly logger: Logger
  /** Called where the server asks for a password, and none is known. @param name the server's. */
  readonly askPassword?: (name: string) => Promise<string>
}

/**
 * Connects once, and so finds out whether connections to a server are encrypted where its address leaves that to the
 * server (`sslmode` prefer and allow), and whether it wants a password.
 *
 * @returns how to connect from now on.
 * @throws {AppError} DATABASE_UNAVAILABLE where it cannot be reached or refuses; WRONG_USE where it wants a password, and
 *   there is none.
 */
export async function reachServer(choice: ServerChoice, options: ReachOptions): Promise<ServerConnection> {
  const { name } = choice.first
  const { askPassword } = options
  try {
    return await tryBoth(choice, options).catch(async (error: unknown) => {
      if (!askPassword || !(error instanceof PasswordMissing)) throw error
      return tryBoth(withPassword(choice, await askPassword(name)), options)
    })
  } catch (error) {
    throw connectFailure(error, name)
  }
}

/** The same server with another password. */
export const withPassword = ({ first, otherwise }: ServerChoice, password: string): ServerChoice => ({
  first: { ...first, password },
  ...(otherwise && { otherwise: { ...otherwise, password } }),
})

async function tryBoth({ first, otherwise }: ServerChoice, options: ReachOptions): Promise<ServerConnection> {
  try {
    return await tryOne(first, options)
  } catch (error) {
    if (!otherwise || !(isEncryptionFailure(error) || isRefused(error))) throw error
    return await tryOne(otherwise, options).catch((second: unknown) => {
      // What the server says of the way that it does not want says nothing about what is wrong.
      throw isRefused(second) && !isEncryptionFailure(error) ? error : second
    })
  }
}

/** Of a login, a database or a host that may not connect in this way, encrypted or not. */
const isRefused = (error: unknown): boolean => sqlState(error) === SQLSTATE.invalidAuthorization

async function tryOne(server: ServerConnection, { applicationName, logger }: ReachOptions): Promise<ServerConnection> {
  const client = await openSession(server, { kind: 'bare', applicationName, logger })
  // Whether it ends in order is nobody's concern.
  void Promise.allSettled([client.end()])
  return server
}
