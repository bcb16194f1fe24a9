import { execFile, type StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findBinaries, libraryEnvironment } from '../../src/database/embedded/binaries.ts'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { chooseServerUser } from '../../src/database/embedded/server-user.ts'
import { type Child, spawnChild } from './child.ts'

const run = promisify(execFile)

const START_LIMIT_MS = 60_000

export interface Postgres {
  /** Wharf's login: no superuser, may create roles, owns its database. */
  readonly url: string
  /** The superuser, in Wharf's database. */
  readonly superuserUrl: string
  start(): Promise<void>
  /** Ends it as a power cut would: nothing is flushed but what was synced. */
  crash(): Promise<void>
  /** Kills one server process that works for a client, upon which PostgreSQL ends all of them and recovers. */
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

  const start = async (): Promise<void> => {
    const until = Date.now() + START_LIMIT_MS
    for (;;) {
      if (!server || server.hasEnded()) {
        const log = openSync(join(folder, 'postgres.log'), 'a')
        const stdio: StdioOptions = ['ignore', log, log]
        const spawning = { ...user, env, cwd: folder, stdio }
        server = await spawnChild(binaries.postgres, ['-D', dataDir, ...options], spawning)
        closeSync(log)
      }
      if (await answers(urlOf('postgres', 'postgres'))) return
      if (Date.now() > until) throw new Error('PostgreSQL did not start')
      await sleep(50)
    }
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!server) return
    server.signal(signal)
    await server.ended
  }

  await start()
  await query(urlOf('postgres', 'postgres'), 'CREATE ROLE wharf LOGIN CREATEROLE')
  await query(urlOf('postgres', 'postgres'), 'CREATE DATABASE wharf OWNER wharf')
  const superuserUrl = urlOf('postgres', 'wharf')
  return {
    url: urlOf('wharf', 'wharf'),
    superuserUrl,
    start,
    crash: () => end('SIGQUIT'),
    async killBackend() {
      const [row] = await query<{ pid: number }>(superuserUrl, `${OTHER_SESSIONS} ORDER BY random() LIMIT 1`)
      if (row) process.kill(row.pid, 'SIGKILL')
    },
    async endSessions(share) {
      const ending = `SELECT pg_terminate_backend(pid) FROM (${OTHER_SESSIONS}) others WHERE random() < ${share}`
      await query(superuserUrl, ending)
    },
    async freeze(ms) {
      if (!server || server.hasEnded()) return
      const pids = [server.pid, ...(await childrenOf(server.pid))]
      for (const pid of pids) signalIfThere(pid, 'SIGSTOP')
      await sleep(ms)
      for (const pid of pids) signalIfThere(pid, 'SIGCONT')
    },
    stop: () => end('SIGINT'),
  }
}

const OTHER_SESSIONS = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

/** Runs one statement in a session of its own. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Row>(sql, [...parameters])).rows
  } finally {
    await client.end()
  }
}

const answers = (url: string): Promise<boolean> =>
  query(url, 'SELECT 1').then(
    () => true,
    () => false,
  )

/** @see proc_pid_stat(5): the fourth field is the parent. */
async function childrenOf(parent: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => Number(/^\d+ \(.*\) \S (\d+)/s.exec(stats[index] ?? '')?.[1]) === parent)
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
