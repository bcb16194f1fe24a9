import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { eventually } from '../eventually.ts'
import { type Child, spawnChild } from '../processes/child.ts'

/** Two servers of Redis, the second a replica of the first, and a Sentinel that looks after them. */
export interface RedisWithSentinel {
  /** What Wharf is told to use them. */
  readonly environment: Readonly<
    Record<'REDIS_URL' | 'WHARF_REDIS_SENTINELS' | 'WHARF_REDIS_SENTINEL_PASSWORD', string>
  >
  /** Ends the primary as a crash would, and waits until the replica is one. */
  failOver(): Promise<void>
  stop(): Promise<void>
}

const GROUP = 'tests'
const PASSWORD = 'of-the-servers'
const SENTINEL_PASSWORD = 'of-the-sentinels'

/** Starts them from `redis-server`, which has to be installed. They keep nothing on a disk. */
export async function startRedisWithSentinel(): Promise<RedisWithSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-sentinel-'))
  const [primary, replica, sentinel] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const server = (port: number, ...more: readonly string[]): Promise<Child> => {
    const keeping = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', '--dir', folder]
    const secrets = ['--requirepass', PASSWORD, '--masterauth', PASSWORD]
    const args = ['--port', String(port), '--bind', '127.0.0.1', ...keeping, ...secrets, ...more]
    return spawnChild('redis-server', args, { stdio: 'ignore' })
  }
  const children = [await server(primary), await server(replica, '--replicaof', '127.0.0.1', String(primary))]
  const fieldOf = async (port: number, field: string): Promise<string | undefined> =>
    withClient(port, PASSWORD, async (client) => new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await client.info())?.[1])
  await eventually(() => fieldOf(replica, 'master_link_status').catch(() => undefined), 30_000).toBe('up')
  const path = join(folder, 'sentinel.conf')
  await writeFile(
    path,
    [
      ...[`port ${sentinel}`, 'bind 127.0.0.1', `dir ${folder}`, `requirepass ${SENTINEL_PASSWORD}`],
      ...[`sentinel monitor ${GROUP} 127.0.0.1 ${primary} 1`, `sentinel auth-pass ${GROUP} ${PASSWORD}`],
      ...[`sentinel down-after-milliseconds ${GROUP} 1000`, `sentinel failover-timeout ${GROUP} 10000`],
    ].join('\n'),
  )
  children.push(await spawnChild('redis-server', [path, '--sentinel'], { stdio: 'ignore' }))
  const known = () =>
    withClient(sentinel, SENTINEL_PASSWORD, (client) => client.call('SENTINEL', 'REPLICAS', GROUP)).catch(() => [])
  await eventually(async () => JSON.stringify(await known()), 30_000).toContain(`127.0.0.1:${replica}`)
  return {
    environment: {
      REDIS_URL: `redis://:${PASSWORD}@${GROUP}`,
      WHARF_REDIS_SENTINELS: `127.0.0.1:${sentinel}`,
      WHARF_REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
    },
    async failOver() {
      children[0]?.signal('SIGKILL')
      await eventually(() => fieldOf(replica, 'role'), 60_000).toBe('master')
    },
    async stop() {
      for (const child of children) child.signal('SIGKILL')
      await Promise.all(children.map(({ ended }) => ended))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function withClient<T>(port: number, password: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(port, '127.0.0.1', { password, retryStrategy: () => null, commandTimeout: 1_000 })
  client.on('error', () => undefined)
  try {
    return await use(client)
  } finally {
    client.disconnect()
  }
}
