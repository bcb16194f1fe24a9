import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type AppError, databaseUnavailable } from '../../errors.ts'
import { repeat } from '../../lib/repeat.ts'
import type { Logger } from '../../logger.ts'
import { findBinaries, libraryEnvironment } from './binaries.ts'
import { clusterExists, createCluster, removeUnfinishedClusters, SUPERUSER } from './cluster.ts'
import { type Credentials, readOrCreateCredentials } from './credentials.ts'
import { stopLeftoverServer } from './leftover-server.ts'
import { openServerLog, type ServerLog } from './server-log.ts'
import type { ServerProcess } from './server-process.ts'
import { assertReachable, chooseServerUser } from './server-user.ts'
import { type StartedServer, type StartServerOptions, startServer } from './start-server.ts'
import { stopServer } from './stop-server.ts'
import { ensureWharfLogin, LOGIN } from './wharf-login.ts'

/** How often its log is looked at where nothing else is said, in milliseconds. */
const TRIM_MS = 60_000

export interface EmbeddedPostgresOptions {
  /** An existing folder, whose lock the caller holds. */
  readonly dataDir: string
  readonly logger: Logger
  /** How many connections it takes; 200 unless said. */
  readonly maxConnections?: number
  /** How often its log is looked at, in milliseconds. */
  readonly trimMs?: number
  /** Called once where the server ends without having been stopped. */
  readonly onUnexpectedExit?: (error: Error) => void
}

export interface EmbeddedPostgres {
  /** Connection URL of Wharf's own login: no superuser, may create roles, owns the database `wharf`. */
  readonly url: string
  /** Connection URL of the cluster's superuser (bootstrap and tests only). */
  readonly superuserUrl: string
  /** Stops the server: fast, and more firmly where that takes too long. Calling it again returns the same promise. */
  stop(): Promise<void>
}

/**
 * Starts a private PostgreSQL on a free port of 127.0.0.1.
 *
 * In the data folder: `postgres` is its cluster, made at the first start; `postgres.json` has its passwords (mode 600);
 * `postgres.log` is its log; `postgres-libraries` links its libraries where the npm package could not.
 *
 * From then on, this process ignores the variables of PostgreSQL's own programs, such as `PGOPTIONS`.
 *
 * A server that a killed Wharf left running on this cluster is stopped first.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE with the reason; no server is left running then.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { logger, onUnexpectedExit } = options
  forgetPostgresVariables(process.env)
  // PostgreSQL's command line, by which a leftover server is known, and the check for closed folders need the real one.
  const dataDir = await realpath(options.dataDir)
  const { superuserPassword, password, ...recipe } = await prepareCluster(dataDir, logger)
  const superuserUrl = connectionUrl(SUPERUSER, superuserPassword)
  const log = await openServerLog(join(dataDir, 'postgres.log'))
  const { maxConnections } = options
  const limit = maxConnections === undefined ? {} : { maxConnections }
  const { server, port } = await startWithLogin({ ...recipe, ...limit, superuserUrl, logger, log }, password)
  logger.debug({ pid: server.pid, port }, 'the embedded PostgreSQL runs')

  const trimming = repeat(options.trimMs ?? TRIM_MS, log.trim, (error) =>
    logger.warn({ err: error }, 'postgres.log grows; it is not trimmed'),
  )

  let stopping: Promise<void> | undefined
  const settled = server.ended.then(async (how) => {
    const report = stopping !== undefined ? undefined : await unexpectedExit(how, log)
    await trimming.stop()
    await log.close()
    if (!report) return
    logger.error({ err: report }, 'the embedded PostgreSQL ended unexpectedly')
    onUnexpectedExit?.(report)
  })

  const stop = async (): Promise<void> => {
    if (!server.hasEnded()) await stopRunning(server, logger)
    await settled
  }

  return {
    url: embeddedUrl({ password }, port),
    superuserUrl: superuserUrl(port),
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}

interface PreparedCluster extends Pick<StartServerOptions, 'postgres' | 'clusterDir' | 'user' | 'env'> {
  readonly superuserPassword: string
  readonly password: string
}

/** Leaves a complete cluster on which no server runs. */
async function prepareCluster(dataDir: string, logger: Logger): Promise<PreparedCluster> {
  const clusterDir = join(dataDir, 'postgres')
  const { postgres, initdb } = await findBinaries()
  const user = await chooseServerUser(clusterDir)
  await assertReachable(user, [dataDir, postgres])
  await stopLeftoverServer(clusterDir, logger)
  await removeUnfinishedClusters(dataDir)

  const env = await libraryEnvironment({ postgres, initdb }, join(dataDir, 'postgres-libraries'))
  const exists = await clusterExists(clusterDir)
  const credentials = await readOrCreateCredentials(dataDir, exists)
  if (!exists) await createCluster({ dataDir, clusterDir, initdb, user, env, ...credentials })
  return { postgres, clusterDir, user, env, ...credentials }
}

/** Starts the server and makes sure that Wharf can log in; stops it again where that fails. */
async function startWithLogin(options: StartServerOptions, password: string): Promise<StartedServer> {
  let started: StartedServer | undefined
  try {
    started = await startServer(options)
    await ensureWharfLogin(started.client, password)
    await started.client.end()
    return started
  } catch (error) {
    if (started) await stopServer(started.server)
    await options.log.close()
    throw error
  }
}

async function stopRunning(server: ServerProcess, logger: Logger): Promise<void> {
  const stoppedBy = await stopServer(server)
  if (stoppedBy === undefined) throw new Error(`the embedded PostgreSQL (process ${server.pid}) doesn't stop`)
  if (stoppedBy !== 'SIGINT') logger.warn({ signal: stoppedBy }, 'the embedded PostgreSQL had to be stopped firmly')
}

const unexpectedExit = async (how: string, log: ServerLog): Promise<AppError> =>
  databaseUnavailable(`the embedded PostgreSQL ended unexpectedly (${how}); its log says:\n${await log.tail()}`)

const connectionUrl =
  (login: string, password: string) =>
  (port: number): string =>
    `postgresql://${login}:${password}@127.0.0.1:${port}/${login}`

/** The address of a running server's database, for Wharf's own login. */
export const embeddedUrl = ({ password }: Pick<Credentials, 'password'>, port: number): string =>
  connectionUrl(LOGIN, password)(port)

/**
 * Forgets the variables of PostgreSQL's own programs (`PGOPTIONS`, `PGSSLMODE`, ...), which every connection of this
 * process would use: where the database is Wharf's own, they are meant for some other one.
 */
export function forgetPostgresVariables(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(environment)) {
    if (/^PG[A-Z]/.test(name)) delete environment[name]
  }
}
