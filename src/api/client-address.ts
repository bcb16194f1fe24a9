import type { IncomingHttpHeaders } from 'node:http'
import { createRangeCheck, toCountedAddress, withoutPort } from '../lib/address-range.ts'

/** The parts of a request that say where it comes from. */
interface Arrival {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: IncomingHttpHeaders
}

/** @returns the address under which a request is counted, see `toCountedAddress`. */
export type AddressOf = (request: Arrival) => string

/**
 * Finds out from which address a request comes. `X-Forwarded-For` is believed as far as trusted proxies wrote it: read
 * from its end, the first address that is no such proxy's is the client's. What stands before that, anybody may have
 * written.
 *
 * @param trustedProxies addresses and ranges; where there are none, the header is not looked at.
 */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  const isTrusted = createRangeCheck(trustedProxies)
  return ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? ''
    if (trustedProxies.length === 0 || !isTrusted(peer)) return toCountedAddress(peer)
    const header = headers['x-forwarded-for']
    const named = [header ?? ''].flat().join(',').split(',')
    const hops = named.map((hop) => withoutPort(hop.trim())).filter((hop) => hop !== '')
    return toCountedAddress(hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer)
  }
}
