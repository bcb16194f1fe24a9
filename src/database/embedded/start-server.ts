import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { databaseUnavailable } from '../../errors.ts'
import { timeLimit } from '../../lib/time-limit.ts'
import type { Logger } from '../../logger.ts'
import { connectWhenReady } from './connect-when-ready.ts'
import { findFreePort, isPortTaken } from './free-port.ts'
import { stopLeftoverServer } from './leftover-server.ts'
import { runServer, type ServerOptions, type ServerProcess } from './server-process.ts'
import { stopServer } from './stop-server.ts'

/** How long, and how often, a start is tried again that failed for a reason that passes by itself. */
const RETRY_LIMIT_MS = 30_000
const RETRY_INTERVAL_MS = 200

/**
 * What PostgreSQL logs while sessions of a killed server still run on this cluster. They end by themselves, see
 * `client_connection_check_interval`. The cluster's messages are in English, whatever the system's language.
 */
const SESSIONS_STILL_RUN = 'pre-existing shared memory block'

/** What it logs where a killed service's server was only about to begin when leftover ones were looked for. */
const OTHER_SERVER_BEGAN = 'lock file "postmaster.pid" already exists'

/** Recovery after a crash reads up to `max_wal_size` of log, and a slow disk takes minutes for that. */
const START_TIMEOUT_MS = 5 * 60_000

export interface StartServerOptions extends Omit<ServerOptions, 'port'> {
  /** Connection URL of the superuser on this port. */
  readonly superuserUrl: (port: number) => string
  readonly logger: Logger
}

export interface StartedServer {
  readonly server: ServerProcess
  readonly port: number
  /** Logged in as the superuser; the caller ends it. */
  readonly client: pg.Client
}

/**
 * Runs the server on a free port and waits until it lets us in. The cluster must be the caller's alone: another server
 * on it is a leftover, and is stopped.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE with the last lines of the server's log; no server is left running.
 */
export async function startServer(options: StartServerOptions): Promise<StartedServer> {
  const deadline = Date.now() + RETRY_LIMIT_MS
  for (;;) {
    const port = await findFreePort()
    const server = runServer({ ...options, port })
    const client = await connect(server, options.superuserUrl(port), options.logger)
    if (client) return { server, port, client }

    const how = await server.ended
    const logged = await options.log.tail()
    const otherBegan = logged.includes(OTHER_SERVER_BEGAN)
    const passes = otherBegan || logged.includes(SESSIONS_STILL_RUN) || (await isPortTaken(port))
    if (!passes || Date.now() > deadline) {
      throw databaseUnavailable(`the embedded PostgreSQL did not start (${how}); its log says:\n${logged}`)
    }
    if (otherBegan) await stopLeftoverServer(options.clusterDir, options.logger)
    await sleep(RETRY_INTERVAL_MS)
  }
}

/** @returns undefined where the server ended, by itself or because it took too long. */
async function connect(server: ServerProcess, url: string, logger: Logger): Promise<pg.Client | undefined> {
  const ending = new AbortController()
  void server.ended.then(() => ending.abort())
  const signal = AbortSignal.any([ending.signal, timeLimit(START_TIMEOUT_MS)])
  let client: pg.Client | undefined
  try {
    client = await connectWhenReady(url, { signal, logger })
    return client
  } finally {
    if (!client && !server.hasEnded()) await stopServer(server)
  }
}
