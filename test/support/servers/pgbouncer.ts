import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { spawnChild } from '../processes/child.ts'
import { ORDINARY_USER } from '../processes/ordinary-user.ts'
import { untilReady } from './sessions.ts'

/** Whether this machine has the pooler. */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0

export interface PgBouncer {
  /** The same database by way of the pooler. */
  readonly url: string
  end(): Promise<void>
}

/** Starts PgBouncer in front of a server. It asks nobody for a password. */
export async function startPgBouncer(
  database: string,
  mode: 'session' | 'transaction' | 'statement',
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-pgbouncer-'))
  await chmod(folder, 0o755)
  const { hostname, port: serverPort, username, password, pathname } = new URL(database)
  const login = `user=${username} password='${decodeURIComponent(password)}'`
  const port = await findFreePort()
  const config = join(folder, 'pgbouncer.ini')
  const settings = [
    '[databases]',
    // `any` needs the name of one login, as which all of them connect.
    `* = host=${hostname} port=${serverPort} ${login}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
  ]
  await writeFile(config, `${settings.join('\n')}\n`)
  const child = await spawnChild('pgbouncer', ['--quiet', config], { ...ORDINARY_USER, stdio: 'ignore' })
  const url = `postgres://${username}@127.0.0.1:${port}${pathname}`
  await untilReady(url, async () => {
    if (child.hasEnded()) throw new Error(`PgBouncer ended: ${await child.ended}`)
  })
  return {
    url,
    async end() {
      child.signal('SIGKILL')
      await child.ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
