import { type LookupFunction, Socket } from 'node:net'

/** A socket for `pg` to connect, which finds the addresses of a host's name by `lookup`. */
export function lookupSocket(lookup: LookupFunction): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket)
  return Object.assign(socket, { connect: (port: number, host: string) => connect({ port, host, lookup }) })
}
