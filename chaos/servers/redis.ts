import { setTimeout as sleep } from 'node:timers/promises'
import { Redis as Client } from 'ioredis'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { type Child, spawnChild } from '../../test/support/processes/child.ts'

export interface Redis {
  readonly url: string
  start(): Promise<void>
  kill(): Promise<void>
  /** Takes everything from it. */
  empty(): Promise<void>
  freeze(ms: number): Promise<void>
}

/** A Redis that can be ended and started again; `redis-server` has to be installed. @param folder where it keeps its log of writes. */
export async function createRedis(folder: string): Promise<Redis> {
  const port = await findFreePort()
  const url = `redis://127.0.0.1:${port}`
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const keeping = ['--save', '', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction']
  let server: Child | undefined

  const start = async (): Promise<void> => {
    server = await spawnChild('redis-server', [...place, ...keeping], { stdio: 'ignore' })
    while (!(await ask(url, (client) => client.ping()))) {
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
    async empty() {
      await ask(url, (client) => client.flushall())
    },
    async freeze(ms) {
      server?.signal('SIGSTOP')
      await sleep(ms)
      server?.signal('SIGCONT')
    },
  }
}

/** @returns undefined where it does not answer. */
async function ask<T>(url: string, use: (client: Client) => Promise<T>): Promise<T | undefined> {
  const client = new Client(url, { retryStrategy: () => null, connectTimeout: 1_000, commandTimeout: 1_000 })
  client.on('error', () => undefined)
  try {
    return await use(client)
  } catch {
    return undefined
  } finally {
    client.disconnect()
  }
}
