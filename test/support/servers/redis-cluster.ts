import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { eventually } from '../eventually.ts'
import { type Child, spawnChild } from '../processes/child.ts'
import { makeCertificate } from './certificates.ts'

const run = promisify(execFile)

const PASSWORD = 'of-the-nodes'

/** Servers of Redis that are a cluster: three primaries, each with a replica if it is asked for. */
export interface RedisCluster {
  /** What Wharf is told to use it. */
  readonly environment: Readonly<Record<string, string>> & Readonly<Record<'REDIS_URL', string>>
  /** Ends the primary that has a key as a crash would, and waits until its replica is one. */
  failOver(key: string): Promise<void>
  stop(): Promise<void>
}

interface ClusterOptions {
  /** Over what they are reached. For TLS, `openssl` has to be installed. */
  readonly over?: 'TCP' | 'TLS'
  /** Of each primary. */
  readonly replicas?: 0 | 1
}

/** Starts them from `redis-server`, which has to be installed. They keep nothing on a disk. */
export async function startRedisCluster({ over = 'TCP', replicas = 1 }: ClusterOptions = {}): Promise<RedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  const certificate = over === 'TLS' ? await makeCertificate(folder) : undefined
  const listening = (port: number): Readonly<Record<string, string | number>> =>
    certificate
      ? {
          ...{ port: 0, 'tls-port': port, 'tls-cluster': 'yes', 'tls-replication': 'yes', 'tls-auth-clients': 'no' },
          'tls-ca-cert-file': certificate.path,
          ...{ 'tls-cert-file': certificate.path, 'tls-key-file': certificate.key },
        }
      : { port }
  const ports: number[] = []
  const children = new Map<number, Child>()
  for (let index = 0; index < 3 + 3 * replicas; index += 1) {
    const [port, bus] = [await findFreePort(), await findFreePort()]
    const dir = join(folder, String(index))
    await mkdir(dir)
    const options = {
      ...listening(port),
      ...{ bind: '127.0.0.1', dir, save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction' },
      ...{ requirepass: PASSWORD, masterauth: PASSWORD },
      ...{
        'cluster-enabled': 'yes',
        'cluster-port': bus,
        'cluster-node-timeout': 2_000,
        'repl-diskless-sync-delay': 0,
      },
    }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    children.set(port, await spawnChild('redis-server', args, { stdio: 'ignore' }))
    ports.push(port)
  }
  const cli = async (port: number, ...args: readonly string[]): Promise<string> => {
    const tls = certificate ? ['--tls', '--cacert', certificate.path] : []
    const secret = ['-a', PASSWORD, '--no-auth-warning']
    const { stdout } = await run('redis-cli', ['-c', '-p', String(port), ...tls, ...secret, ...args])
    return stdout.trim()
  }
  const isWhole = async (port: number): Promise<boolean> =>
    (await cli(port, 'CLUSTER', 'INFO')).includes('cluster_state:ok')
  for (const port of ports) await eventually(() => cli(port, 'PING').catch(() => '')).toBe('PONG')
  const nodes = ports.map((port) => `127.0.0.1:${port}`)
  await cli(ports[0] ?? 0, '--cluster', 'create', ...nodes, '--cluster-replicas', String(replicas), '--cluster-yes')
  for (const port of ports) await eventually(() => isWhole(port), 60_000).toBe(true)
  // One that has never been in step with its primary does not take its place.
  for (const port of ports) {
    await eventually(() => cli(port, 'INFO', 'replication'), 60_000).toMatch(
      /^(role:master|master_link_status:up)\r?$/m,
    )
  }

  /** The node that answers for a key, as those that live say. */
  const ownerOf = async (key: string): Promise<{ readonly port: number; readonly through: number }> => {
    for (const [through, child] of children) {
      if (child.hasEnded()) continue
      const slot = Number(await cli(through, 'CLUSTER', 'KEYSLOT', key))
      for (const line of (await cli(through, 'CLUSTER', 'NODES')).split('\n')) {
        const [, address = '', flags = '', , , , , ...slots] = line.split(' ')
        const ranges = slots.map((range) => range.split('-').map(Number))
        const isOwner = ranges.some(([first = -1, last = first]) => first <= slot && slot <= last)
        if (isOwner && flags.includes('master') && !flags.includes('fail')) {
          return { through, port: Number(/:(\d+)@/.exec(address)?.[1]) }
        }
      }
    }
    throw new Error(`no node answers for ${key}`)
  }

  return {
    environment: {
      ...(certificate && { NODE_EXTRA_CA_CERTS: certificate.path }),
      REDIS_URL: `${certificate ? 'rediss' : 'redis'}://:${PASSWORD}@${nodes[0]}`,
      WHARF_REDIS_CLUSTER: nodes.slice(1).join(','),
    },
    async failOver(key) {
      const { port } = await ownerOf(key)
      children.get(port)?.signal('SIGKILL')
      await children.get(port)?.ended
      await eventually(async () => (await ownerOf(key).catch(() => ({ port }))).port, 60_000).not.toBe(port)
    },
    async stop() {
      for (const child of children.values()) child.signal('SIGKILL')
      await Promise.all([...children.values()].map(({ ended }) => ended))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
