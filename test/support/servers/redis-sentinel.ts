import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { eventually } from '../eventually.ts'
import { type Child, spawnChild } from '../processes/child.ts'
import { makeCertificate } from './certificates.ts'

/** Two servers of Redis, the second a replica of the first, and three Sentinels that look after them. */
export interface RedisWithSentinel {
  /** What Wharf is told to use them. */
  readonly environment: Readonly<Record<string, string>>
  /** Ends the primary as a crash would, and waits until the replica is one, and each Sentinel says so. */
  failOver(): Promise<void>
  stop(): Promise<void>
}

const GROUP = 'tests'
const PASSWORD = 'of-the-servers'
const SENTINEL_PASSWORD = 'of-the-sentinels'

/**
 * How long a Sentinel may stand still and go on as before, in milliseconds. After more than that, it looks on for 30 s, and
 * then takes no replica whose primary was gone for longer than ten times `down-after-milliseconds`: with the two seconds that
 * they have by default, one pause of a busy machine would keep them from a failover for ever.
 */
const MAX_PAUSE_MS = 600_000

/**
 * Starts them from `redis-server`, which has to be installed. They keep nothing on a disk.
 *
 * @param over what they are reached. For TLS, `openssl` has to be installed.
 */
export async function startRedisWithSentinel(over: 'TCP' | 'TLS' = 'TCP'): Promise<RedisWithSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-sentinel-'))
  const certificate = over === 'TLS' ? await makeCertificate(folder) : undefined
  const [primary, replica] = [await findFreePort(), await findFreePort()]
  const sentinels = [await findFreePort(), await findFreePort(), await findFreePort()]
  const listening = (port: number): readonly (readonly [string, string])[] =>
    certificate
      ? [
          ['port', '0'],
          ['tls-port', String(port)],
          ['tls-replication', 'yes'],
          ['tls-auth-clients', 'no'],
          ['tls-ca-cert-file', certificate.path],
          ['tls-cert-file', certificate.path],
          ['tls-key-file', certificate.key],
        ]
      : [['port', String(port)]]
  const server = (port: number, ...more: readonly string[]): Promise<Child> => {
    const keeping = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', '--dir', folder]
    const secrets = ['--requirepass', PASSWORD, '--masterauth', PASSWORD]
    const where = [['bind', '127.0.0.1'], ...listening(port)].flatMap(([name, value = '']) => [`--${name}`, value])
    return spawnChild('redis-server', [...where, ...keeping, ...secrets, ...more], { stdio: 'ignore' })
  }
  const ca = certificate && (await readFile(certificate.path))
  const withClient = async <T>(port: number, password: string, use: (client: Client) => Promise<T>): Promise<T> => {
    const patience = { retryStrategy: () => null, commandTimeout: 1_000 }
    const client = new Client(port, '127.0.0.1', { password, ...patience, ...(ca && { tls: { ca } }) })
    client.on('error', () => undefined)
    try {
      return await use(client)
    } finally {
      client.disconnect()
    }
  }
  const children = [await server(primary), await server(replica, '--replicaof', '127.0.0.1', String(primary))]
  const fieldOf = async (port: number, field: string): Promise<string | undefined> =>
    withClient(port, PASSWORD, async (client) => new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(await client.info())?.[1])
  await eventually(() => fieldOf(replica, 'master_link_status').catch(() => undefined), 30_000).toBe('up')
  for (const port of sentinels) {
    const path = join(folder, `sentinel-${port}.conf`)
    const lines = [
      ...['bind 127.0.0.1', ...listening(port).map((each) => each.join(' '))],
      ...[`dir ${folder}`, `requirepass ${SENTINEL_PASSWORD}`, `sentinel sentinel-pass ${SENTINEL_PASSWORD}`],
      ...[`sentinel monitor ${GROUP} 127.0.0.1 ${primary} 2`, `sentinel auth-pass ${GROUP} ${PASSWORD}`],
      ...[`sentinel down-after-milliseconds ${GROUP} 1000`, `sentinel failover-timeout ${GROUP} 10000`],
    ]
    await writeFile(path, lines.join('\n'))
    children.push(await spawnChild('redis-server', [path, '--sentinel'], { stdio: 'ignore' }))
  }
  const known = async (port: number, what: 'REPLICAS' | 'SENTINELS'): Promise<number> => {
    const answer = withClient(port, SENTINEL_PASSWORD, (client) => client.call('SENTINEL', what, GROUP))
    return answer.then((each) => (Array.isArray(each) ? each.length : 0)).catch(() => 0)
  }
  for (const port of sentinels) {
    await eventually(() => known(port, 'REPLICAS'), 60_000).toBe(1)
    const set = ['DEBUG', 'tilt-trigger', String(MAX_PAUSE_MS)]
    await eventually(() => withClient(port, SENTINEL_PASSWORD, (each) => each.call('SENTINEL', set))).toBe('OK')
    await eventually(() => known(port, 'SENTINELS'), 60_000).toBe(sentinels.length - 1)
  }
  const primaryBy = (port: number): Promise<unknown> =>
    withClient(port, SENTINEL_PASSWORD, (client) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', GROUP))
  return {
    environment: {
      ...(certificate && { NODE_EXTRA_CA_CERTS: certificate.path }),
      REDIS_URL: `${certificate ? 'rediss' : 'redis'}://:${PASSWORD}@${GROUP}`,
      // The first does not answer.
      WHARF_REDIS_SENTINELS: [1, ...sentinels].map((port) => `127.0.0.1:${port}`).join(','),
      WHARF_REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
    },
    async failOver() {
      children[0]?.signal('SIGKILL')
      await eventually(() => fieldOf(replica, 'role'), 60_000).toBe('master')
      for (const port of sentinels)
        await eventually(() => primaryBy(port), 60_000).toEqual(['127.0.0.1', String(replica)])
    },
    async stop() {
      for (const child of children) child.signal('SIGKILL')
      await Promise.all(children.map(({ ended }) => ended))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
