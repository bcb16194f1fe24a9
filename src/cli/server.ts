import type { Config } from '../config.ts'
import { wrongUse } from '../errors.ts'
import { parseProjectTarget, parseServerTarget, type RemoteTarget, type Target } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { createHttpClient, type HttpClient } from './http.ts'
import { openLocalServer } from './local-server.ts'
import type { ResultOptions } from './terminal/result.ts'

/** A server that a command talks to. */
export interface Server {
  readonly http: HttpClient
  /** The project that was addressed, or the local one. */
  readonly project: string | undefined
  /** For messages: ` on <address>`, or nothing where it is the local server. */
  readonly location: string
}

/** Opens the way to a target's server for as long as `work` takes, starting the local service where none runs. */
export async function withServer<T>(
  context: CommandContext,
  target: Target,
  work: (server: Server) => Promise<T>,
): Promise<T> {
  return target.kind === 'local' ? withLocalServer(context, work) : withRemoteServer(context, target, work)
}

/** What commands about a server as a whole are given. */
export interface ServerOptions extends ResultOptions {
  /** Its DSN; the local server's where it is undefined. */
  readonly server?: string
}

/** The same for a command about a server as a whole. */
export const onServer = <T>(
  context: CommandContext,
  { server }: ServerOptions,
  work: (server: Server) => Promise<T>,
): Promise<T> => withServer(context, parseServerTarget(server), work)

/** The same for a command about one project. @param address its DSN; the local project's where it is undefined. */
export const withProject = <T>(
  context: CommandContext,
  address: string | undefined,
  work: (server: Server, project: string) => Promise<T>,
): Promise<T> =>
  withServer(context, parseProjectTarget(address), (server) => work(server, projectOf(undefined, server)))

async function withLocalServer<T>(context: CommandContext, work: (server: Server) => Promise<T>): Promise<T> {
  const config = await context.environment.loadConfig()
  const service = await openLocalServer(context, config)
  try {
    context.signal.throwIfAborted()
    const client = { origin: new URL(service.url).origin, token: service.rootToken, signal: context.signal }
    return await withClient(client, (http) => work({ http, project: config.project, location: '' }))
  } finally {
    await service.close()
  }
}

async function withRemoteServer<T>(
  { environment, signal }: CommandContext,
  { origin, project, token, name }: RemoteTarget,
  work: (server: Server) => Promise<T>,
): Promise<T> {
  const client = { origin, token: token ?? tokenOf(await environment.loadConfig(), environment), signal }
  return withClient(client, (http) => work({ http, project, location: ` on ${name}` }))
}

async function withClient<T>(
  options: Parameters<typeof createHttpClient>[0],
  work: (http: HttpClient) => Promise<T>,
): Promise<T> {
  const http = createHttpClient(options)
  try {
    return await work(http)
  } finally {
    await http.close()
  }
}

function tokenOf({ token }: Config, { hasEnvironmentFile }: CommandContext['environment']): string {
  if (token !== undefined) return token
  const hint = hasEnvironmentFile ? ' of the environment; .env is read by "wharf start", "api" and "worker" only' : ''
  throw wrongUse(
    `the address carries no token: put it there, wharf://<project>:<TOKEN>@<host>, or into WHARF_TOKEN${hint}`,
  )
}

/** @throws {AppError} WRONG_USE where neither the option nor the address names a project. */
export function projectOf(option: string | undefined, server: Server): string {
  const project = option ?? server.project
  if (project === undefined) throw wrongUse('no project is named: name it with --project')
  return project
}
