import { spawn } from 'node:child_process'
import type { ServerLog } from './server-log.ts'
import { ACCESS_SETTINGS, guardSettings, SETTINGS } from './server-settings.ts'
import type { ServerUser } from './server-user.ts'
import type { RunningServer } from './stop-server.ts'

export interface ServerOptions {
  readonly postgres: string
  readonly clusterDir: string
  readonly port: number
  readonly user: ServerUser
  readonly env: Readonly<Record<string, string>>
  /** Instead of Wharf's own and its guards: of a server of another version, which may not know them. */
  readonly settings?: Readonly<Record<string, string>>
  /** Instead of the settings' own. */
  readonly maxConnections?: number
  readonly log: ServerLog
}

export interface ServerProcess extends RunningServer {
  readonly pid: number | undefined
  /** Resolves, never rejects, when the server has ended or could not be run: with how, for people. */
  readonly ended: Promise<string>
}

/**
 * Runs PostgreSQL as a child in a session of its own: a terminal's Ctrl-C is for Wharf, which closes it in order. Where
 * this process ends before it has, PostgreSQL is told to.
 */
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
  const stopAtExit = (): unknown => child.kill('SIGINT')
  process.once('exit', stopAtExit)
  let hasEnded = false
  const ended = new Promise<string>((resolve) => {
    const end = (how: string) => {
      hasEnded = true
      process.off('exit', stopAtExit)
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
