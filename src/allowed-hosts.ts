import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { forbidden } from './errors.ts'

/** Which other servers this one may reach: hosts as URLs have them, each with a port or without. */
export type AllowedHosts = readonly string[]

/** Stands in a list for every host, but for addresses inside: these have to be listed themselves. */
export const EVERY_PUBLIC_HOST = '*'

/** Which variable has a list, for messages. */
type HostsSetting = 'WHARF_TRANSFER_HOSTS' | 'WHARF_WEBHOOK_HOSTS'

/** Finds the addresses of a name; `dns.lookup` of Node does. */
export type FindAddresses = (
  hostname: string,
  options: { readonly all: true; readonly family: number },
) => Promise<{ address: string; family: number }[]>

/** Another server: a name or an address, IPv6 in brackets or without, and a port. */
export interface HostAndPort {
  readonly hostname: string
  readonly port: number
}

/** The server of a URL. @param origin `https://host:port`. */
export function hostAndPortOf(origin: string): HostAndPort {
  const { hostname, port, protocol } = new URL(origin)
  return { hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) }
}

/**
 * Makes sure that this server may reach another one: its host is listed, with this port or without any, and where it is
 * written as an address, that may be connected to. What a name leads to is judged by `createVettedLookup`.
 *
 * @throws {AppError} FORBIDDEN
 */
export function assertAllowedHost(
  server: HostAndPort,
  allowed: AllowedHosts,
  setting: HostsSetting = 'WHARF_TRANSFER_HOSTS',
): void {
  const { hostname, port } = server
  if (!allowed.includes(EVERY_PUBLIC_HOST) && !isListed(server, allowed)) {
    throw forbidden(`this server may not reach ${hostname}:${port}; its operator can allow it (${setting})`)
  }
  const address = withoutBrackets(hostname)
  if (isIP(address) !== 0 && !mayConnect(address, server, allowed)) throw notReachable(hostname, setting)
}

/**
 * Looks a host up for a connection, and gives only addresses that may be connected to: what is looked up is what is
 * connected to, so nobody can change a name's address in between. An address inside (private, loopback, link-local,
 * ...) is refused, also behind an allowed name, unless it is itself allowed with the port of the connection.
 *
 * @param server of all connections that use this lookup.
 */
export function createVettedLookup(
  server: HostAndPort,
  allowed: AllowedHosts,
  {
    findAddresses = systemLookup,
    setting = 'WHARF_TRANSFER_HOSTS',
  }: { readonly findAddresses?: FindAddresses; readonly setting?: HostsSetting } = {},
): LookupFunction {
  return (hostname, options, done) => {
    const all = (async () => {
      const found = await findAddresses(hostname, { all: true, family: toFamily(options.family) })
      return found.filter(({ address }) => mayConnect(address, { ...server, hostname }, allowed))
    })()
    all.then(
      (addresses) => {
        const [first] = addresses
        if (!first) return done(notReachable(hostname, setting), '', 0)
        if (options.all) done(null, addresses)
        else done(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => done(error, '', 0),
    )
  }
}

/**
 * Whether a connection to a server may go to an address.
 *
 * `localhost` is always this machine (RFC 6761), so who allows that name allows its addresses for it.
 */
function mayConnect(address: string, { hostname, port }: HostAndPort, allowed: AllowedHosts): boolean {
  const range = ipaddr.process(address).range()
  if (range === 'unicast' || isListed({ hostname: address, port }, allowed)) return true
  return range === 'loopback' && hostname === 'localhost' && isListed({ hostname, port }, allowed)
}

/** Whether a name, or an address however it is written, is in the list, with this port or without any. */
function isListed({ hostname, port }: HostAndPort, allowed: AllowedHosts): boolean {
  return allowed.some((entry) => {
    const [, host = '', listedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    return sameHost(host, hostname) && (listedPort === undefined || Number(listedPort) === port)
  })
}

const sameHost = (listed: string, hostname: string): boolean => toCanonical(listed) === toCanonical(hostname)

/** IPv6 at its shortest, and as the IPv4 address that it stands for, where it does. */
function toCanonical(host: string): string {
  const address = withoutBrackets(host)
  return isIP(address) === 0 ? host : ipaddr.process(address).toString()
}

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '')

function toFamily(family: number | 'IPv4' | 'IPv6' | undefined): number {
  if (family === 'IPv4') return 4
  return family === 'IPv6' ? 6 : (family ?? 0)
}

const notReachable = (hostname: string, setting: HostsSetting): Error =>
  forbidden(
    `${hostname} is an address inside this server's own network; its operator can allow ` +
      `it by the address itself, with this port or without any, beside the name where it has one (${setting})`,
  )
