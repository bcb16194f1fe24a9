import { spawn } from 'node:child_process'
import { guardSettings } from './guard-settings.ts'
import type { ServerLog } from './server-log.ts'
import type { ServerUser } from './server-user.ts'
import type { RunningServer } from './stop-server.ts'

/** Other users of this machine can reach it only by its port, with a password. */
const ACCESS_SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }

/**
 * Settings of every start, given on the command line, so that clusters made by earlier versions have them too.
 *
 * @see https://www.postgresql.org/docs/current/runtime-config.html
 */
export const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '200',
  // For Wharf's own login, however many sessions projects have.
  reserved_connections: '70',
  shared_buffers: '256MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_wal_size: '2GB',
  // Nothing replicates from this server, so what COPY writes into a table of its own transaction needs no WAL.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // A query whose client is gone ends, instead of running on after a Wharf that was killed.
  client_connection_check_interval: '1s',
  // No errors of statements, nor the statements: they quote records. Clients get them anyway.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
}

export interface ServerOptions {
  readonly postgres: string
  readonly clusterDir: string
  readonly port: number
  readonly user: ServerUser
  readonly env: Readonly<Record<string, string>>
  /** In the place of Wharf's own, and of its guards: of a server of another version, which may not know them. */
  readonly settings?: Readonly<Record<string, string>>
  /** In the place of the settings' own. */
  readonly maxConnections?: number
  readonly log: ServerLog
}

export interface ServerProcess extends RunningServer {
  readonly pid: number | undefined
  /** Resolves, never rejects, when the server has ended or could not be run: with how, for people. */
  readonly ended: Promise<string>
}

/** Runs PostgreSQL as a child in a session of its own: a terminal's Ctrl-C is for Wharf, which closes it in order. */
export function runServer(options: ServerOptions): ServerProcess {
  const { postgres, clusterDir, port, user, env, maxConnections, log } = options
  const chosen = options.settings ?? { ...SETTINGS, ...guardSettings(clusterDir) }
  const connections = maxConnections && { max_connections: String(maxConnections) }
  const settings = Object.entries({ ...chosen, ...connections, ...ACCESS_SETTINGS, port: String(port) })
  const child = spawn(
    postgres,
    ['-D', clusterDir, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      ...user,
      cwd: clusterDir,
      env,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', log.fd, log.fd],
    },
  )
  let hasEnded = false
  const ended = new Promise<string>((resolve) => {
    const end = (how: string) => {
      hasEnded = true
      resolve(how)
    }
    child.once('error', (error) => end(error.message))
    child.once('exit', (code, signal) => end(signal ? `signal ${signal}` : `exit code ${code}`))
  })
  return {
    pid: child.pid,
    ended,
    signal: (signal) => child.kill(signal),
    hasEnded: () => hasEnded,
  }
}
