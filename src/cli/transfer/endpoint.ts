import { projectSchema } from '../../contract/project.ts'
import { isLoopback } from '../../transfer/remote/target.ts'
import { encodedPath } from '../http.ts'
import { projectOf, type Server } from '../server.ts'
import { get } from '../server-api.ts'
import { printable } from '../terminal/printable.ts'

/** A project on a server, as one side of a transfer. */
export interface Endpoint {
  readonly server: Server
  readonly project: string
}

export const toEndpoint = (server: Server): Endpoint => ({ server, project: projectOf(undefined, server) })

export const nameOf = ({ server, project }: Endpoint): string => `${project}${server.location}`

/** The slugs of its stages, for people. @throws {AppError} REMOTE_FAILED, also where the project is not there. */
export async function stagesOf({ server, project }: Endpoint): Promise<readonly string[]> {
  const { stages } = await get(server.http, encodedPath`/projects/${project}`, projectSchema)
  return stages.map(({ slug }) => printable(slug))
}

/** One server can have many names; those of this machine are known to be the same. */
export const isSameProject = (from: Endpoint, to: Endpoint): boolean =>
  from.project === to.project && serverOf(from.server.http.origin) === serverOf(to.server.http.origin)

/** Then one job can do it, with the rights of the one token. */
export const isSameAccess = (from: Endpoint, to: Endpoint): boolean =>
  serverOf(from.server.http.origin) === serverOf(to.server.http.origin) &&
  from.server.http.token === to.server.http.token

function serverOf(origin: string): string {
  const { protocol, hostname, port } = new URL(origin)
  return `${protocol}//${isLoopback(hostname) ? 'localhost' : hostname}:${port}`
}
