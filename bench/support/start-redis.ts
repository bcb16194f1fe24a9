import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort, isPortTaken } from '../../src/database/embedded/free-port.ts'

export interface BenchRedis {
  readonly url: string
  stop(): Promise<void>
}

/** Starts a Redis of the bench's own, which keeps nothing on disk; undefined where `redis-server` is not installed. */
export async function startRedis(): Promise<BenchRedis | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return undefined
  const port = await findFreePort()
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    stdio: 'ignore',
  })
  const exited = once(server, 'exit')
  while (!(await isPortTaken(port))) {
    if (server.exitCode !== null) throw new Error('Redis did not start')
    await sleep(20)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      server.kill()
      await exited
    },
  }
}
