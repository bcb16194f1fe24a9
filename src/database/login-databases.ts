import type { Database, OpenDatabase } from './database.ts'

/** How many connections one login's pool may open. */
const MAX_CONNECTIONS_PER_LOGIN = 10

/** How many logins' pools are kept open while nobody uses them. */
const MAX_OPEN = 64

export interface Login {
  readonly name: string
  readonly password: string
}

export interface LoginDatabases {
  /** The database as `login` sees it. Opened when first asked for and shared from then on. */
  of(login: Login): Database
  /** The same without its password, where it is open already. */
  opened(name: string): Database | undefined
  /** Gives up a login that was dropped. Connections that are in use end when their users have given them back. */
  forget(name: string): void
  closeAll(): Promise<void>
}

/**
 * Keeps a pool for each login that a project's sessions run under: whatever may execute SQL of a project's own
 * making runs in a session that logged in as that project, since a session that merely did SET ROLE can undo it.
 *
 * @param baseUrl connection URL of the database; user and password in it are replaced by the login's.
 */
export function createLoginDatabases(options: { baseUrl: string; open: OpenDatabase }): LoginDatabases {
  const databases = new Map<string, Database>()

  const close = async (name: string): Promise<void> => {
    const database = databases.get(name)
    databases.delete(name)
    await database?.close()
  }

  const forget = (name: string): void => {
    void Promise.allSettled([close(name)])
  }

  const closeUnused = (): void => {
    for (const [name, { pool }] of databases) {
      if (databases.size <= MAX_OPEN) return
      if (pool.totalCount === 0) forget(name)
    }
  }

  /** Deleted and set again, so that the map's order is the order of last use. */
  const keep = (name: string, database: Database): void => {
    databases.delete(name)
    databases.set(name, database)
  }

  return {
    of(login) {
      const database =
        databases.get(login.name) ??
        options.open(loginUrl(options.baseUrl, login), { maxConnections: MAX_CONNECTIONS_PER_LOGIN })
      keep(login.name, database)
      closeUnused()
      return database
    },
    opened(name) {
      const database = databases.get(name)
      if (database) keep(name, database)
      return database
    },
    forget,
    async closeAll() {
      await Promise.all([...databases.keys()].map(close))
    },
  }
}

function loginUrl(baseUrl: string, login: Login): string {
  const url = new URL(baseUrl)
  url.username = encodeURIComponent(login.name)
  url.password = encodeURIComponent(login.password)
  return url.href
}
