import type { Database, OpenDatabase } from './database.ts'

/** How many connections one login's pool may open. */
const MAX_CONNECTIONS_PER_LOGIN = 10

/** How many logins' databases are kept ready while nobody uses them. */
const MAX_READY = 64

/** For how long nobody has to have asked for a database before it is retired. */
const UNUSED_MS = 10 * 60_000

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

export interface LoginDatabasesOptions {
  /** Connection URL of the database; user and password in it are replaced by the login's. */
  readonly baseUrl: string
  readonly open: OpenDatabase
  /** Sets a login's password again: SQL of a project's own may have changed it. */
  readonly restorePassword: (login: Login) => Promise<void>
  /** Milliseconds since whenever. */
  readonly now?: () => number
}

interface Ready {
  readonly database: Database
  readonly askedForMs: number
}

/**
 * Keeps a pool for each login that a project's sessions run under: whatever may execute SQL of a project's own
 * making runs in a session that logged in as that project, since a session that merely did SET ROLE can undo it.
 *
 * A database that nobody asked for in a while, and that has no connection, is retired: the next one who asks gets a new
 * one, but it is never closed, since somebody may hold it still.
 */
export function createLoginDatabases({
  baseUrl,
  open,
  restorePassword,
  now = Date.now,
}: LoginDatabasesOptions): LoginDatabases {
  /** In the order of last use. */
  const ready = new Map<string, Ready>()
  const retired = new Set<WeakRef<Database>>()

  const close = async (name: string): Promise<void> => {
    const database = ready.get(name)?.database
    ready.delete(name)
    await database?.close()
  }

  const retireUnused = (): void => {
    for (const reference of retired) if (!reference.deref()) retired.delete(reference)
    for (const [name, { database, askedForMs }] of ready) {
      if (ready.size <= MAX_READY || now() - askedForMs < UNUSED_MS) return
      if (database.pool.totalCount > 0) continue
      ready.delete(name)
      retired.add(new WeakRef(database))
      void Promise.allSettled([database.rest()])
    }
  }

  /** Deleted and set again, so that the map's order is the order of last use. */
  const keep = (name: string, database: Database): void => {
    ready.delete(name)
    ready.set(name, { database, askedForMs: now() })
  }

  return {
    of(login) {
      const database =
        ready.get(login.name)?.database ??
        open(loginUrl(baseUrl, login), {
          maxConnections: MAX_CONNECTIONS_PER_LOGIN,
          restorePassword: () => restorePassword(login),
        })
      keep(login.name, database)
      retireUnused()
      return database
    },
    opened(name) {
      const database = ready.get(name)?.database
      if (database) keep(name, database)
      return database
    },
    forget(name) {
      void Promise.allSettled([close(name)])
    },
    async closeAll() {
      const stillHeld = [...retired].map((reference) => reference.deref()?.close())
      retired.clear()
      await Promise.all([...stillHeld, ...[...ready.keys()].map(close)])
    },
  }
}

function loginUrl(baseUrl: string, login: Login): string {
  const url = new URL(baseUrl)
  url.username = encodeURIComponent(login.name)
  url.password = encodeURIComponent(login.password)
  return url.href
}
