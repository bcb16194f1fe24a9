import ipaddr from 'ipaddr.js'

/** Whether a text is an IP address, or a range of them in CIDR notation. */
export const isAddressRange = (text: string): boolean => ipaddr.isValid(text) || ipaddr.isValidCIDR(text)

/**
 * @param ranges as `isAddressRange` wants them.
 * @returns whether an IP address is in one of the ranges; false for what is no address.
 */
export function createRangeCheck(ranges: readonly string[]): (address: string) => boolean {
  const known = ranges.map((range): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
    if (ipaddr.isValidCIDR(range)) return ipaddr.parseCIDR(range)
    const address = ipaddr.process(range)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  })
  return (address) => {
    if (known.length === 0 || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return known.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits))
  }
}

/** The client behind an IPv6 address mostly has all of its network. */
const NETWORK_PARTS = 4

/**
 * The text under which an address is counted: IPv4 as it is, also where it is mapped into IPv6, and IPv6 by its network
 * of 64 bits.
 */
export function toCountedAddress(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  return `${parsed.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** An address as proxies may write it: with a port, or in brackets. */
const WITH_PORT = /^(?:\[(?<v6>[^\]]*)\]|(?<v4>[\d.]+))(?::\d*)?$/

/**
 * The address of what a proxy names, e.g. `1.2.3.4` of `1.2.3.4:5678`, and `2001:db8::1` of `[2001:db8::1]:5678`: some
 * name the port too, which is another one for each connection.
 */
export function withoutPort(named: string): string {
  const { v4, v6 } = WITH_PORT.exec(named)?.groups ?? {}
  return v4 ?? v6 ?? named
}
