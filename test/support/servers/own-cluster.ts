import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createDatabaseIn, type TestCluster, type TestDatabase } from '../database/database.ts'
import { assertNothingForeign, startRecording } from '../statements/record-statements.ts'
import { type ClusterOptions, startCluster } from './cluster.ts'
import { query } from './sessions.ts'

const run = promisify(execFile)

const INSTALLED = '/usr/lib/postgresql'

/**
 * The folder of programs that `TEST_POSTGRES` names, else that of the newest PostgreSQL that the system has installed
 * whole; undefined where it has none.
 */
export function installedPrograms(): string | undefined {
  const { TEST_POSTGRES } = process.env
  if (TEST_POSTGRES) return TEST_POSTGRES
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : []
  return versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLED, version, 'bin'))
    .find((bin) => ['initdb', 'postgres', 'pg_dump'].every((program) => existsSync(join(bin, program))))
}

/** The major version of the PostgreSQL of these programs. */
export const versionOf = (programs: string): number => Number(basename(dirname(programs)))

/** Whether the PostgreSQL of these programs can speak German: its translations are installed. */
export const speaksGerman = (programs: string): boolean =>
  existsSync(`/usr/share/locale/de/LC_MESSAGES/plpgsql-${versionOf(programs)}.mo`)

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

/** Makes and starts a server from the programs in this folder. */
export async function startOwnCluster(
  bin: string,
  { settings = {}, environment = {} }: Omit<ClusterOptions, 'programs'> = {},
): Promise<OwnCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-cluster-'))
  const { dataDir, logPath, user, stop, ...cluster } = await startCluster(folder, {
    programs: { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') },
    settings: { fsync: 'off', max_connections: '200', ...settings },
    environment,
  })
  await startRecording(cluster.superuserUrl)
  return {
    ...cluster,
    createDatabase: () => createDatabaseIn(cluster),
    crash: () => stop('SIGQUIT'),
    async promote() {
      await query(cluster.superuserUrl, 'SELECT pg_promote()')
    },
    async restartAsStandby() {
      await stop('SIGINT')
      const signal = join(dataDir, 'standby.signal')
      await writeFile(signal, '')
      if (user.uid !== undefined && user.gid !== undefined) await chown(signal, user.uid, user.gid)
      await cluster.start()
    },
    async dump(database, schema, options = []) {
      const args = ['--schema', `"${schema}"`, '--no-owner', ...options, database.superuserUrl]
      const { stdout } = await run(join(bin, 'pg_dump'), args, { maxBuffer: 2 ** 30 })
      return stdout
    },
    async remove() {
      await stop('SIGINT')
      await assertNothingForeign(logPath).finally(() => rm(folder, { recursive: true, force: true }))
    },
  }
}
