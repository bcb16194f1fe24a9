import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { forbidden } from '../../errors.ts'

/** Which other servers a transfer may reach: hosts as URLs have them, each with a port or without. */
export type AllowedHosts = readonly string[]

/**
 * Makes sure that a transfer may reach a server at all.
 *
 * @param origin `https://host:port`.
 * @throws {AppError} FORBIDDEN
 */
export function assertAllowedHost(origin: string, allowed: AllowedHosts): void {
  const { host, hostname, port, protocol } = new URL(origin)
  const withPort = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host
  if (allowed.includes(hostname) || allowed.includes(withPort)) return
  throw forbidden(`this server may not reach ${host} for a transfer; its operator can allow it (WHARF_TRANSFER_HOSTS)`)
}

/**
 * Looks a host up for a connection, and gives only addresses that may be connected to: what is looked up is what is
 * connected to, so nobody can change a name's address in between. An address inside (private, loopback, link-local,
 * ...) is refused, also behind an allowed name, unless it is itself allowed.
 */
export function createVettedLookup(allowed: AllowedHosts): LookupFunction {
  return (hostname, options, done) => {
    const all = (async () => {
      const found = await systemLookup(hostname, { all: true, family: options.family ?? 0 })
      return found.filter(({ address }) => isPublic(address) || isListed(address, allowed))
    })()
    all.then(
      (addresses) => {
        const [first] = addresses
        if (!first) return done(refusal(hostname), '', 0)
        if (options.all) done(null, addresses)
        else done(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => done(error, '', 0),
    )
  }
}

/** Hosts that are written as addresses are never looked up, so they are judged here. @throws {AppError} FORBIDDEN */
export function assertVettedAddress(origin: string, allowed: AllowedHosts): void {
  const { hostname } = new URL(origin)
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0 || isPublic(address) || isListed(address, allowed)) return
  throw refusal(hostname)
}

const isPublic = (address: string): boolean => ipaddr.process(address).range() === 'unicast'

/** Whether an address stands in the list itself, whatever the port. */
function isListed(address: string, allowed: AllowedHosts): boolean {
  const written = isIP(address) === 6 ? new URL(`http://[${address}]`).hostname : address
  return allowed.some((host) => host === written || host.replace(/:\d+$/, '') === written)
}

const refusal = (hostname: string): Error =>
  forbidden(
    `${hostname} is an address inside this server's own network, which no transfer may reach; its operator can allow ` +
      'it by the address itself, beside the name where it has one (WHARF_TRANSFER_HOSTS)',
  )
