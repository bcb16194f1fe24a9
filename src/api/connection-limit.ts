import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createRangeCheck, toCountedAddress } from '../lib/address-range.ts'

export interface ConnectionLimitOptions {
  /** How many connections one address may have at once; 0 for any number. */
  readonly maxConnections: number
  /** Addresses that have any number: connections of many clients come from them. */
  readonly trustedProxies: readonly string[]
}

/** How long a connection that is one too many has to ask, and so to hear why it is closed. */
const HEARING_MS = 2_000

/**
 * Limits the connections that one address has at once. One that is too many is answered once, if it asks soon; an
 * address with twice as many is not answered any more.
 *
 * @returns whether a connection is one too many.
 */
export function limitConnections(
  server: Server,
  { maxConnections, trustedProxies }: ConnectionLimitOptions,
): (socket: Socket) => boolean {
  const isTrusted = createRangeCheck(trustedProxies)
  const open = new Map<string, number>()
  const excess = new WeakSet<Socket>()

  const leave = (address: string): void => {
    const left = (open.get(address) ?? 0) - 1
    if (left > 0) open.set(address, left)
    else open.delete(address)
  }

  server.on('connection', (socket) => {
    const { remoteAddress = '' } = socket
    if (maxConnections === 0 || isTrusted(remoteAddress)) return
    const address = toCountedAddress(remoteAddress)
    const count = (open.get(address) ?? 0) + 1
    open.set(address, count)
    socket.once('close', () => leave(address))
    if (count <= maxConnections) return
    excess.add(socket)
    if (count > 2 * maxConnections) socket.destroy()
    const timer = setTimeout(() => socket.destroy(), HEARING_MS)
    socket.once('close', () => clearTimeout(timer))
  })
  return (socket) => excess.has(socket)
}
