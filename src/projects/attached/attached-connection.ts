import type { LookupFunction } from 'node:net'
import { type AllowedHosts, assertAllowedHost, createVettedLookup } from '../../allowed-hosts.ts'
import { parsePostgresAddress } from '../../database/address/parse-address.ts'
import { resolveAddress } from '../../database/address/resolve-address.ts'
import type { ServerChoice, ServerConnection } from '../../database/address/server-connection.ts'
import { invalidRequest, isAppError } from '../../errors.ts'
import type { ReachedAddress } from './attachment.ts'

/**
 * The server of an address that was given to this service: nothing of this machine, be it a file, a socket or a variable,
 * fills it in.
 *
 * @param allowed the hosts that may be reached; undefined for an operator's own command line.
 * @param database the one that is meant, instead of the one that the address names.
 * @throws {AppError} WRONG_USE where the address is not understood; FORBIDDEN where its host may not be reached.
 */
export async function resolveGiven(
  address: string,
  allowed: AllowedHosts | undefined,
  database?: string,
): Promise<ServerChoice> {
  const { parameters, schemas } = parsePostgresAddress(address)
  const meant = database === undefined ? parameters : { ...parameters, dbname: database }
  const { first, otherwise } = await resolveAddress({ parameters: meant, schemas })
  const vetted = vetter(first, allowed)
  return { first: { ...first, ...vetted }, ...(otherwise && { otherwise: { ...otherwise, ...vetted } }) }
}

/** How an attached project's database is reached: the way that was found when its address was given. */
export async function connectionOf(
  { address, isListed, isSecondChoice, database }: ReachedAddress,
  allowed: AllowedHosts,
): Promise<ServerConnection> {
  const { first, otherwise } = await resolveGiven(address, isListed ? allowed : undefined, database)
  return (isSecondChoice ? otherwise : undefined) ?? first
}

/** Judges each address that the host's name leads to at the moment of a connection. */
function vetter(server: ServerConnection, allowed: AllowedHosts | undefined): { readonly lookup?: LookupFunction } {
  if (!allowed) return {}
  const { host, hostAddress, port } = server
  assertAllowedHost({ hostname: host.toLowerCase(), port }, allowed)
  // It would be connected to whatever the name leads to.
  if (hostAddress !== undefined) assertAllowedHost({ hostname: hostAddress, port }, allowed)
  return { lookup: createVettedLookup({ hostname: host.toLowerCase(), port }, allowed) }
}

/** An address as a field of a request's body: what is wrong with it is said of the field. */
export async function inBody<T>(pointer: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isAppError(error, 'WRONG_USE')) throw error
    throw invalidRequest('the body does not have the expected form', [{ pointer, detail: error.message }])
  }
}
