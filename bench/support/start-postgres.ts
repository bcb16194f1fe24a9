import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findBinaries, libraryEnvironment } from '../../src/database/embedded/binaries.ts'
import { openServerLog } from '../../src/database/embedded/server-log.ts'
import { SETTINGS } from '../../src/database/embedded/server-settings.ts'
import { chooseServerUser, type ServerUser } from '../../src/database/embedded/server-user.ts'
import { startServer } from '../../src/database/embedded/start-server.ts'
import { stopServer } from '../../src/database/embedded/stop-server.ts'
import { ensureWharfLogin, LOGIN } from '../../src/database/embedded/wharf-login.ts'
import { createLogger } from '../../src/logger.ts'
import { findInstalledPostgres, type InstalledPostgres } from './find-binaries.ts'
import { processorTimeOfAll } from './processor-time.ts'

const run = promisify(execFile)

/** Settings of the embedded PostgreSQL that an older one refuses to start with, which take no part in its speed. */
const UNKNOWN_BEFORE_16 = ['reserved_connections']

const SUPERUSER = 'postgres'

/** Where the programs are that Wharf is measured beside. */
export type ClientPrograms = Pick<InstalledPostgres, 'psql' | 'pgDump' | 'pgRestore'>

export interface BenchPostgres {
  /** For people: which one, and of what version. */
  readonly description: string
  /** Wharf's login: no superuser, may create roles, owns its database. */
  readonly url: string
  /** The superuser, in Wharf's database. */
  readonly superuserUrl: string
  /** Undefined where the machine has no client programs of the server's version. */
  readonly programs: ClientPrograms | undefined
  /** What the server has taken, with all its sessions, in seconds; only Linux tells. */
  processorTime(): Promise<number>
  stop(): Promise<void>
}

/** Wharf's embedded PostgreSQL is made faster than one is by itself: it writes no WAL for tables that are new, say. */
export type Settings = 'of the embedded one' | 'as initdb leaves them'

/**
 * Starts a PostgreSQL of the bench's own: the machine's, so that psql and pg_dump can be measured beside Wharf, or
 * else the programs of Wharf's embedded one.
 *
 * @param dataDir an existing folder that every user may enter.
 */
export async function startPostgres(dataDir: string, settings: Settings): Promise<BenchPostgres> {
  const installed = await findInstalledPostgres()
  const programs = installed ?? (await findBinaries())
  const env = installed ? {} : await libraryEnvironment(programs, join(dataDir, 'libraries'))
  const [superuserPassword, password] = [randomPassword(), randomPassword()]
  const clusterDir = join(dataDir, 'cluster')
  const user = await chooseServerUser(clusterDir)
  await createCluster(programs.initdb, { dataDir, clusterDir, user, env, superuserPassword })

  const log = await openServerLog(join(dataDir, 'postgres.log'))
  const urlOf = (login: string, secret: string, database: string) => (port: number) =>
    `postgresql://${login}:${secret}@127.0.0.1:${port}/${database}`
  const { server, port, client } = await startServer({
    postgres: programs.postgres,
    clusterDir,
    user,
    env,
    settings: settings === 'as initdb leaves them' ? {} : embeddedSettings(installed),
    superuserUrl: urlOf(SUPERUSER, superuserPassword, 'postgres'),
    logger: createLogger('warn'),
    log,
  })
  try {
    await ensureWharfLogin(client, password)
  } finally {
    await client.end()
  }
  return {
    description: `${installed ? describe(installed) : EMBEDDED}, settings ${settings}`,
    url: urlOf(LOGIN, password, LOGIN)(port),
    superuserUrl: urlOf(SUPERUSER, superuserPassword, LOGIN)(port),
    programs: installed,
    processorTime: () => processorTimeOfAll(server.pid ?? Number.NaN),
    async stop() {
      await stopServer(server)
      await log.close()
    },
  }
}

const describe = ({ version }: InstalledPostgres): string =>
  `the machine's PostgreSQL ${version}, with psql and pg_dump of the same version`

const EMBEDDED = "Wharf's embedded PostgreSQL; COPY through pg-copy-streams, as psql and pg_dump are not installed"

async function createCluster(
  initdb: string,
  {
    dataDir,
    clusterDir,
    user,
    env,
    superuserPassword,
  }: {
    readonly dataDir: string
    readonly clusterDir: string
    readonly user: ServerUser
    readonly env: Readonly<Record<string, string>>
    readonly superuserPassword: string
  },
): Promise<void> {
  const passwordFile = join(dataDir, 'password')
  await mkdir(clusterDir, { mode: 0o700 })
  await writeFile(passwordFile, superuserPassword, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined) {
    await Promise.all([clusterDir, passwordFile].map((path) => chown(path, user.uid ?? 0, user.gid ?? 0)))
  }
  const options = ['--encoding=UTF8', '--locale=C.UTF-8', '--auth=scram-sha-256', '--no-sync', '--data-checksums']
  await run(initdb, ['--pgdata', clusterDir, '--username', SUPERUSER, '--pwfile', passwordFile, ...options], {
    ...user,
    cwd: dataDir,
    env,
  })
}

/** Needs no escaping in a connection URL. */
const randomPassword = (): string => randomBytes(16).toString('hex')

const embeddedSettings = (installed: InstalledPostgres | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(SETTINGS).filter(
      ([name]) => !installed || Number.parseInt(installed.version, 10) >= 16 || !UNKNOWN_BEFORE_16.includes(name),
    ),
  )
