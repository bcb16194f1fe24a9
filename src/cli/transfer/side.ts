import { isLoopback } from '../../transfer/remote/target.ts'
import { projectOf, type Server } from '../server.ts'

/** A project on a server, as one side of a transfer. */
export interface Side {
  readonly server: Server
  readonly project: string
}

export const toSide = (server: Server): Side => ({ server, project: projectOf(undefined, server) })

export const nameOf = ({ server, project }: Side): string => `${project}${server.place}`

/** One server can have many names; those of this machine are known to be the same. */
export const isSameProject = (from: Side, to: Side): boolean =>
  from.project === to.project && placeOf(from.server.http.origin) === placeOf(to.server.http.origin)

/** Then one job can do it, with the rights of the one token. */
export const isSameAccess = (from: Side, to: Side): boolean =>
  placeOf(from.server.http.origin) === placeOf(to.server.http.origin) && from.server.http.token === to.server.http.token

function placeOf(origin: string): string {
  const { protocol, hostname, port } = new URL(origin)
  return `${protocol}//${isLoopback(hostname) ? 'localhost' : hostname}:${port}`
}
