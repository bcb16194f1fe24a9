import { setTimeout as sleep } from 'node:timers/promises'
import { Redis as Client } from 'ioredis'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { type Child, spawnChild } from '../processes/child.ts'
import { isInstalled } from '../processes/is-installed.ts'

export const isRedisInstalled = isInstalled('redis-server')

/** Longer than any test takes. */
const PAUSE_MS = 600_000

/** A Redis server that belongs to one test file, or one run of something else. */
export interface RedisServer {
  readonly url: string
  start(): Promise<void>
  /** Ends it as a crash would. */
  kill(): Promise<void>
  /** Lets it do nothing for a while. */
  freeze(ms: number): Promise<void>
  /** Takes no command that could write, until `use` has ended; a client that is gone by then has sent nothing. */
  withoutWrites<T>(use: () => Promise<T>): Promise<T>
  keys(): Promise<readonly string[]>
  /** Every key with its value, as text. */
  dump(): Promise<string>
  /** Notes down every command that it is given from now on. @returns what gives them as text, and ends that. */
  listen(): Promise<() => string>
  /** Takes everything from it; does nothing where it does not answer. */
  empty(): Promise<void>
}

/**
 * Starts `redis-server`, which has to be installed, on a port of its own.
 *
 * @param folder where it keeps what it is told; without one, it is empty when it is started again.
 */
export async function startRedis(folder?: string): Promise<RedisServer> {
  const port = await findFreePort()
  const url = `redis://127.0.0.1:${port}`
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--maxmemory-policy', 'noeviction']
  const keeping = folder === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--dir', folder]
  let server: Child | undefined

  const start = async (): Promise<void> => {
    server = await spawnChild('redis-server', [...options, ...keeping], { stdio: 'ignore' })
    while (!(await withClient(url, (client) => client.ping()).catch(() => undefined))) {
      if (server.hasEnded()) throw new Error('Redis did not start')
      await sleep(20)
    }
  }
  await start()
  return {
    url,
    start,
    async kill() {
      server?.signal('SIGKILL')
      await server?.ended
    },
    async freeze(ms) {
      server?.signal('SIGSTOP')
      await sleep(ms)
      server?.signal('SIGCONT')
    },
    withoutWrites: (use) =>
      withClient(url, async (client) => {
        await client.client('PAUSE', PAUSE_MS, 'WRITE')
        try {
          return await use()
        } finally {
          await client.client('UNPAUSE')
        }
      }),
    keys: () => withClient(url, (client) => client.keys('*')),
    dump: () =>
      withClient(url, async (client) => {
        const texts: string[] = []
        for (const key of await client.keys('*')) {
          const value = await client.dumpBuffer(key)
          texts.push(`${key} ${value?.toString('latin1')}`)
        }
        return texts.join('\n')
      }),
    async listen() {
      const client = await new Client(url, { retryStrategy: () => null }).monitor()
      const commands: string[] = []
      client.on('error', () => undefined)
      client.on('monitor', (_: string, args: readonly string[]) => void commands.push(args.join(' ')))
      return () => {
        client.disconnect()
        return commands.join('\n')
      }
    },
    async empty() {
      await withClient(url, (client) => client.flushall()).catch(() => undefined)
    },
  }
}

/** @throws {Error} where it does not answer. */
async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url, { retryStrategy: () => null, connectTimeout: 1_000, commandTimeout: 1_000 })
  client.on('error', () => undefined)
  try {
    return await use(client)
  } finally {
    client.disconnect()
  }
}
