import { execFile, type StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { chooseServerUser, type ServerUser } from '../../../src/database/embedded/server-user.ts'
import { type Child, spawnChild } from '../processes/child.ts'
import { freezeTree } from '../processes/process-tree.ts'
import { query, untilReady } from './sessions.ts'

const run = promisify(execFile)

/** A PostgreSQL server that can be ended and started again. */
export interface Cluster {
  /** The login `wharf`, which is no superuser and may create roles, in the database `postgres`. */
  readonly url: string
  readonly superuserUrl: string
  readonly dataDir: string
  /** What it writes to its standard error. */
  readonly logPath: string
  /** Whom it runs as. */
  readonly user: ServerUser
  start(): Promise<void>
  /** Ends it: in order by SIGINT, as a crash would by SIGQUIT. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** Lets none of its processes do anything, until what is returned is called. */
  freeze(): Promise<() => void>
}

export interface ClusterOptions {
  readonly programs: { readonly initdb: string; readonly postgres: string }
  /** Settings on top of those that it needs anyway. */
  readonly settings?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
}

/** Makes and starts a server on a port of its own. @param folder an existing one of its own. */
export async function startCluster(
  folder: string,
  { programs, settings = {}, environment = {} }: ClusterOptions,
): Promise<Cluster> {
  const dataDir = join(folder, 'data')
  const logPath = join(folder, 'postgres.log')
  const user = await chooseServerUser(dataDir)
  await mkdir(dataDir, { mode: 0o700 })
  if (user.uid !== undefined && user.gid !== undefined) await chown(dataDir, user.uid, user.gid)
  await chmod(folder, 0o755)
  const asUser = { ...user, cwd: folder, env: { ...process.env, ...environment } }
  const initdb = ['-D', dataDir, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  await run(programs.initdb, initdb, asUser)
  const port = await findFreePort()
  const given = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings }
  const options = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const urlOf = (login: string): string => `postgresql://${login}@127.0.0.1:${port}/postgres`
  let server: Child | undefined

  const begin = async (): Promise<void> => {
    if (server && !server.hasEnded()) return
    const log = openSync(logPath, 'a')
    const stdio: StdioOptions = ['ignore', log, log]
    server = await spawnChild(programs.postgres, ['-D', dataDir, ...options], { ...asUser, stdio })
    closeSync(log)
  }
  const cluster: Cluster = {
    url: urlOf('wharf'),
    superuserUrl: urlOf('postgres'),
    dataDir,
    logPath,
    user,
    start: () => untilReady(urlOf('postgres'), begin),
    async stop(signal) {
      server?.signal(signal)
      await server?.ended
    },
    async freeze() {
      return server && !server.hasEnded() ? freezeTree(server.pid) : () => undefined
    },
  }
  await cluster.start()
  await query(cluster.superuserUrl, 'CREATE ROLE wharf LOGIN CREATEROLE CREATEDB')
  return cluster
}
