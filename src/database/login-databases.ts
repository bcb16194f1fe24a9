import type pg from 'pg'
import { MAX_HELPING_SESSIONS } from '../config.ts'
import type { Database, OpenDatabase } from './database.ts'
import { keepDatabases } from './kept-databases.ts'

/** What a connection is for. Each has a pool of its own, so that none can take the connections of another. */
export const LOGIN_USES = ['content', 'exports', 'imports', 'helping'] as const
export type LoginUse = (typeof LOGIN_USES)[number]

/**
 * How many connections each of a login's pools may open. Changes of structure count as imports. Of those for exports, jobs
 * need 6, which requests never take (`MAX_JOB_EXPORTS`). Those that help exports and imports are limited for all logins together
 * (`WHARF_HELPING_SESSIONS`).
 */
export const MAX_CONNECTIONS: Readonly<Record<LoginUse, number>> = {
  content: 10,
  exports: 10,
  imports: 8,
  helping: MAX_HELPING_SESSIONS,
}

export interface Login {
  readonly name: string
  readonly password: string
  /** The database of its own that it is for; undefined for the one that is shared. */
  readonly ownDatabase?: string | undefined
}

export interface LoginDatabases {
  /** The database as `login` sees it. Opened when first asked for and shared from then on. */
  of(login: Login, use: LoginUse): Database
  /** The same without its password, where it is open already. */
  opened(name: string, use: LoginUse): Database | undefined
  /** The pools that are open for a use, of whichever login. */
  pools(use: LoginUse): readonly pg.Pool[]
  /** Gives up a login that was dropped. Connections that are in use end when their users have given them back. */
  forget(name: string): void
  closeAll(): Promise<void>
}

export interface LoginDatabasesOptions {
  /** Connection URL of the shared database; user, password and database in it are replaced by the login's. */
  readonly baseUrl: string
  readonly open: OpenDatabase
  /** Sets a login's password again: SQL of a project's own may have changed it. */
  readonly restorePassword: (login: Login) => Promise<void>
  /** Milliseconds since whenever. */
  readonly now?: () => number
}

/**
 * Keeps a pool for each login that a project's sessions run under: whatever may execute SQL of a project's own
 * making runs in a session that logged in as that project, since a session that merely did SET ROLE can undo it.
 */
export function createLoginDatabases({ baseUrl, open, restorePassword, now }: LoginDatabasesOptions): LoginDatabases {
  const kept = keepDatabases(LOGIN_USES, now)
  return {
    ...kept,
    of: (login, use) =>
      kept.of(login.name, use, () =>
        open(loginUrl(baseUrl, login), {
          maxConnections: MAX_CONNECTIONS[use],
          // Nothing of Wharf's is in a database of its own, as in those that are not Wharf's.
          session: login.ownDatabase === undefined ? 'project' : 'attached',
          givesByteText: use === 'exports' || use === 'helping',
          endsWhenServerHangs: use === 'content',
          restorePassword: () => restorePassword(login),
        }),
      ),
  }
}

/** The address of a login's database. @param baseUrl of the shared one. */
export function loginUrl(baseUrl: string, login: Login): string {
  const url = new URL(baseUrl)
  url.username = encodeURIComponent(login.name)
  url.password = encodeURIComponent(login.password)
  if (login.ownDatabase !== undefined) url.pathname = `/${encodeURIComponent(login.ownDatabase)}`
  return url.href
}
