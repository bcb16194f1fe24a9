import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '../../../src/database/embedded/free-port.ts'
import { chooseServerUser } from '../../../src/database/embedded/server-user.ts'
import { createDatabaseIn, type TestCluster, type TestDatabase } from '../database/database.ts'
import { freezeTree } from '../processes/process-tree.ts'
import { assertNothingForeign, startRecording } from '../statements/record-statements.ts'
import { query, untilReady } from './sessions.ts'

const run = promisify(execFile)

const INSTALLED = '/usr/lib/postgresql'

/** The folder of programs of the newest PostgreSQL that the system has installed whole; undefined where it has none. */
export function installedPrograms(): string | undefined {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : []
  return versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLED, version, 'bin'))
    .find((bin) => ['initdb', 'postgres', 'pg_dump'].every((program) => existsSync(join(bin, program))))
}

/** Whether the PostgreSQL of these programs can speak German: its translations are installed. */
export const speaksGerman = (programs: string): boolean =>
  existsSync(`/usr/share/locale/de/LC_MESSAGES/plpgsql-${basename(dirname(programs))}.mo`)

/** A PostgreSQL server that belongs to one test file, which may do to it what it likes. */
export interface OwnCluster extends TestCluster {
  createDatabase(): Promise<TestDatabase>
  start(): Promise<void>
  /** Lets none of its processes do anything, until what is returned is called. */
  freeze(): Promise<() => void>
  /** Ends it as a crash would. */
  crash(): Promise<void>
  /** Ends it in order, and starts it as a standby is started: it can be read only. */
  restartAsStandby(): Promise<void>
  /** Lets a standby take writes from now on. */
  promote(): Promise<void>
  /** A schema of a database, as `pg_dump` writes it. */
  dump(database: TestDatabase, schema: string, options?: readonly string[]): Promise<string>
  /** Ends and removes it. @throws {Error} where Wharf's own login read or called in it what is a project's. */
  remove(): Promise<void>
}

export interface OwnClusterOptions {
  /** Settings on top of those that it needs anyway. */
  readonly settings?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
}

/** Makes and starts a server from these programs, on a port of its own. */
export async function startOwnCluster(
  programs: string,
  { settings: more = {}, environment = {} }: OwnClusterOptions = {},
): Promise<OwnCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  const dataDir = join(folder, 'data')
  const logPath = join(folder, 'log')
  const user = await chooseServerUser(dataDir)
  await mkdir(dataDir)
  if (user.uid !== undefined && user.gid !== undefined) {
    await chown(folder, user.uid, user.gid)
    await chown(dataDir, user.uid, user.gid)
  }
  const asUser = { ...user, cwd: folder }
  const initdb = ['-D', dataDir, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  await run(join(programs, 'initdb'), initdb, asUser)
  const port = await findFreePort()
  const superuserUrl = `postgresql://postgres@127.0.0.1:${port}/postgres`
  const cluster = { superuserUrl, url: `postgresql://wharf@127.0.0.1:${port}/postgres` }
  let server: ReturnType<typeof spawn> | undefined

  const begin = async (): Promise<void> => {
    if (server && server.exitCode === null && server.signalCode === null) return
    const settings = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      max_connections: '200',
      ...more,
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const log = await open(logPath, 'a')
    server = spawn(join(programs, 'postgres'), ['-D', dataDir, ...options], {
      ...asUser,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'ignore', log.fd],
    })
    await once(server, 'spawn')
    await log.close()
  }
  const start = (): Promise<void> => untilReady(superuserUrl, begin)
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (!server || server.exitCode !== null) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }

  await start()
  await query(superuserUrl, 'CREATE ROLE wharf LOGIN CREATEROLE')
  await startRecording(superuserUrl)
  return {
    ...cluster,
    start,
    createDatabase: () => createDatabaseIn(cluster),
    crash: () => stop('SIGQUIT'),
    async promote() {
      await query(superuserUrl, 'SELECT pg_promote()')
    },
    async restartAsStandby() {
      await stop('SIGINT')
      const signal = join(dataDir, 'standby.signal')
      await writeFile(signal, '')
      if (user.uid !== undefined && user.gid !== undefined) await chown(signal, user.uid, user.gid)
      await start()
    },
    async freeze() {
      if (server?.pid === undefined) throw new Error('the server does not run')
      return freezeTree(server.pid)
    },
    async dump(database, schema, options = []) {
      const args = ['--schema', `"${schema}"`, '--no-owner', ...options, database.superuserUrl]
      const { stdout } = await run(join(programs, 'pg_dump'), args, { maxBuffer: 2 ** 30 })
      return stdout
    },
    async remove() {
      await stop('SIGINT')
      await assertNothingForeign(logPath).finally(() => rm(folder, { recursive: true, force: true }))
    },
  }
}
