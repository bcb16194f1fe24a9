import type { Database, OpenDatabase } from './database.ts'

/** What a connection is for. Each has a pool of its own, so that none can take the connections of another. */
const USES = ['content', 'exports', 'imports'] as const
export type LoginUse = (typeof USES)[number]

/**
 * How many connections each of a login's pools may open. Changes of structure count as imports. Of those for exports, jobs
 * need 6, which requests never take (`MAX_JOB_EXPORTS`).
 */
export const MAX_CONNECTIONS: Readonly<Record<LoginUse, number>> = { content: 10, exports: 10, imports: 8 }

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
  of(login: Login, use: LoginUse): Database
  /** The same without its password, where it is open already. */
  opened(name: string, use: LoginUse): Database | undefined
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
  /** By login and use, in the order of last use. */
  const ready = new Map<string, Ready>()
  const retired = new Set<WeakRef<Database>>()

  const close = async (key: string): Promise<void> => {
    const database = ready.get(key)?.database
    ready.delete(key)
    await database?.close()
  }

  const retireUnused = (): void => {
    for (const reference of retired) if (!reference.deref()) retired.delete(reference)
    for (const [key, { database, askedForMs }] of ready) {
      if (ready.size <= MAX_READY || now() - askedForMs < UNUSED_MS) return
      if (database.pool.totalCount > 0) continue
      ready.delete(key)
      retired.add(new WeakRef(database))
      void Promise.allSettled([database.rest()])
    }
  }

  /** Deleted and set again, so that the map's order is the order of last use. */
  const keep = (key: string, database: Database): void => {
    ready.delete(key)
    ready.set(key, { database, askedForMs: now() })
  }

  return {
    of(login, use) {
      const key = keyOf(login.name, use)
      const database =
        ready.get(key)?.database ??
        open(loginUrl(baseUrl, login), {
          maxConnections: MAX_CONNECTIONS[use],
          session: 'project',
          givesByteText: use === 'exports',
          endsWhenServerHangs: use === 'content',
          restorePassword: () => restorePassword(login),
        })
      keep(key, database)
      retireUnused()
      return database
    },
    opened(name, use) {
      const key = keyOf(name, use)
      const database = ready.get(key)?.database
      if (database) keep(key, database)
      return database
    },
    forget(name) {
      void Promise.allSettled(USES.map((use) => close(keyOf(name, use))))
    },
    async closeAll() {
      const stillHeld = [...retired].map((reference) => reference.deref()?.close())
      retired.clear()
      await Promise.all([...stillHeld, ...[...ready.keys()].map(close)])
    },
  }
}

const keyOf = (name: string, use: LoginUse): string => `${name} ${use}`

function loginUrl(baseUrl: string, login: Login): string {
  const url = new URL(baseUrl)
  url.username = encodeURIComponent(login.name)
  url.password = encodeURIComponent(login.password)
  return url.href
}
