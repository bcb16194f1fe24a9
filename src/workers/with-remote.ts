import { wrongUse } from '../errors.ts'
import type { RemoteServer } from '../transfer/remote/remote-server.ts'
import { parseProjectTarget } from '../transfer/remote/target.ts'
import type { AttemptContext } from './processors/processor.ts'

/** Connects to the server of a DSN for as long as `use` takes. @param token that of the DSN, which is masked there. */
export async function withRemote<T>(
  { container, signal }: Pick<AttemptContext, 'container' | 'signal'>,
  dsn: string,
  token: string | undefined,
  use: (server: RemoteServer, slug: string) => Promise<T>,
): Promise<T> {
  const target = parseProjectTarget(dsn)
  if (target.kind === 'local' || target.project === undefined) throw wrongUse('the DSN names no project')
  if (token === undefined) throw wrongUse('the DSN has no token')
  const { transferHosts } = container.config
  // Its HTTP client takes some MB of memory, which a process that reaches no other server need not pay.
  const { connectRemoteServer } = await import('../transfer/remote/remote-server.ts')
  const server = connectRemoteServer({ origin: target.origin, token, allowed: transferHosts, signal })
  try {
    return await use(server, target.project)
  } finally {
    await server.close()
  }
}
