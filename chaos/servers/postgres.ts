import { execFile, type StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findBinaries, libraryEnvironment } from '../../src/database/embedded/binaries.ts'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { chooseServerUser } from '../../src/database/embedded/server-user.ts'
import { type Child, spawnChild } from '../../test/support/processes/child.ts'
import { freezeTree, signalIfThere } from '../../test/support/processes/process-tree.ts'
import { query, untilReady, withSession } from '../../test/support/servers/sessions.ts'
import type { Period } from '../history.ts'

const run = promisify(execFile)

/** Within which PostgreSQL ends all sessions once one of its processes was killed. */
const ENDING_LIMIT_MS = 20_000

export interface Postgres {
  /** Wharf's login: no superuser, may create roles, owns its database. */
  readonly url: string
  /** The superuser, in Wharf's database. */
  readonly superuserUrl: string
  /** Each crash, from before it until no session of before was left; after it, UNLOGGED tables are empty. */
  readonly crashes: readonly Period[]
  start(): Promise<void>
  /** Ends it as a power cut would: nothing is flushed but what was synced. */
  crash(): Promise<void>
  /** Kills one server process that works for a client, upon which PostgreSQL ends all of them; waits until it has recovered. */
  killBackend(): Promise<void>
  /** Ends some of the sessions of clients, as an administrator would. */
  endSessions(share: number): Promise<void>
  /** Lets none of its processes do anything for a while. */
  freeze(ms: number): Promise<void>
  stop(): Promise<void>
}

/**
 * A PostgreSQL that can be ended and started again, from the binaries of the embedded one. It syncs what it writes, as
 * one in production does.
 *
 * @param folder an existing folder that every user may enter.
 */
export async function createPostgres(folder: string): Promise<Postgres> {
  const binaries = await findBinaries()
  const env = await libraryEnvironment(binaries, join(folder, 'libraries'))
  const dataDir = join(folder, 'cluster')
  await mkdir(dataDir, { mode: 0o700 })
  const user = await chooseServerUser(dataDir)
  if (user.uid !== undefined && user.gid !== undefined) await chown(dataDir, user.uid, user.gid)
  await chmod(folder, 0o755)
  const initdb = ['-D', dataDir, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  await run(binaries.initdb, initdb, { ...user, cwd: folder, env })
  const port = await findFreePort()
  const urlOf = (login: string, database: string): string => `postgresql://${login}@127.0.0.1:${port}/${database}`
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', restart_after_crash: 'on' }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let server: Child | undefined

  const begin = async (): Promise<void> => {
    if (server && !server.hasEnded()) return
    const log = openSync(join(folder, 'postgres.log'), 'a')
    const stdio: StdioOptions = ['ignore', log, log]
    server = await spawnChild(binaries.postgres, ['-D', dataDir, ...options], { ...user, env, cwd: folder, stdio })
    closeSync(log)
  }
  const start = (): Promise<void> => untilReady(urlOf('postgres', 'postgres'), begin)
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!server) return
    server.signal(signal)
    await server.ended
  }

  await start()
  await query(urlOf('postgres', 'postgres'), 'CREATE ROLE wharf LOGIN CREATEROLE')
  await query(urlOf('postgres', 'postgres'), 'CREATE DATABASE wharf OWNER wharf')
  const superuserUrl = urlOf('postgres', 'wharf')
  const crashes: Period[] = []
  return {
    url: urlOf('wharf', 'wharf'),
    superuserUrl,
    crashes,
    start,
    async crash() {
      const since = performance.now()
      await end('SIGQUIT')
      crashes.push({ begin: since, end: performance.now() })
    },
    async killBackend() {
      const since = performance.now()
      const hasCrashed = await withSession(superuserUrl, async (session) => {
        const ended = new Promise<boolean>((resolve) => session.once('end', () => resolve(true)))
        const { rows } = await session.query<{ pid: number }>(`${OTHER_SESSIONS} ORDER BY random() LIMIT 1`)
        for (const { pid } of rows) signalIfThere(pid, 'SIGKILL')
        // One that was about to end by itself takes nobody with it.
        return Promise.race([ended, sleep(ENDING_LIMIT_MS, false, { ref: false })])
      })
      // It answers again once all sessions have ended.
      await start()
      if (hasCrashed) crashes.push({ begin: since, end: performance.now() })
    },
    async endSessions(share) {
      const ending = `SELECT pg_terminate_backend(pid) FROM (${OTHER_SESSIONS}) others WHERE random() < ${share}`
      await query(superuserUrl, ending)
    },
    async freeze(ms) {
      if (!server || server.hasEnded()) return
      const thaw = await freezeTree(server.pid)
      await sleep(ms)
      thaw()
    },
    stop: () => end('SIGINT'),
  }
}

const OTHER_SESSIONS = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`
