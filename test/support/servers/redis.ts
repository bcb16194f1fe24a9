import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { test } from 'vitest'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { isInstalled } from '../processes/is-installed.ts'

export const isRedisInstalled = isInstalled('redis-server')

/** For tests that need Redis: they are left out where it is not installed. */
export const redisTest = test.skipIf(!isRedisInstalled)

/** Longer than any test takes. */
const PAUSE_MS = 600_000

/** A Redis server that belongs to one test file. */
export interface TestRedis {
  readonly url: string
  start(): Promise<void>
  /** Ends it as a crash would. */
  kill(): Promise<void>
  /** Takes no command that could write, until `use` has ended; a client that is gone by then has sent nothing. */
  withoutWrites<T>(use: () => Promise<T>): Promise<T>
  keys(): Promise<readonly string[]>
  /** Every key with its value, as text. */
  dump(): Promise<string>
}

/**
 * Starts `redis-server`, which has to be installed.
 *
 * @param folder where it keeps what it is told; without one, it is empty when it is started again.
 */
export async function startRedis(folder?: string): Promise<TestRedis> {
  const port = await findFreePort()
  const url = `redis://127.0.0.1:${port}`
  let server: ReturnType<typeof spawn> | undefined

  const redis: TestRedis = {
    url,
    async start() {
      const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--maxmemory-policy', 'noeviction']
      const keeping = folder === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--dir', folder]
      server = spawn('redis-server', [...options, ...keeping], { stdio: 'ignore' })
      await once(server, 'spawn')
      await withClient(url, (client) => untilReady(client))
    },
    async kill() {
      if (!server || server.exitCode !== null || server.signalCode !== null) return
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
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
  }
  await redis.start()
  return redis
}

async function withClient<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { maxRetriesPerRequest: null })
  client.on('error', () => undefined)
  try {
    return await use(client)
  } finally {
    client.disconnect()
  }
}

async function untilReady(client: Redis): Promise<void> {
  for (;;) {
    const answer = await client.ping().catch(() => undefined)
    if (answer === 'PONG') return
    await delay(20)
  }
}
