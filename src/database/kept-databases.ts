import type pg from 'pg'
import type { Database } from './database.ts'

/** How many databases are kept ready while nobody uses them. */
const MAX_READY = 64

/** For how long nobody has to have asked for a database before it is retired. */
const UNUSED_MS = 10 * 60_000

/** Databases that are open, by whom they are for and what for. */
export interface KeptDatabases<Use extends string> {
  /** One that is kept, or what `open` gives, which is kept from then on. */
  of(owner: string, use: Use, open: () => Database): Database
  /** One that is kept. */
  opened(owner: string, use: Use): Database | undefined
  /** The pools that are kept for a use, of all owners. */
  pools(use: Use): readonly pg.Pool[]
  /** Gives up all of an owner. Connections that are in use end when their users have given them back. */
  forget(owner: string): void
  closeAll(): Promise<void>
}

interface Ready {
  readonly database: Database
  readonly askedForMs: number
}

/**
 * Keeps databases open, so that who asks for one again gets the same.
 *
 * A database that nobody asked for in a while, and that has no connection, is retired: the next one who asks gets a new
 * one, but it is never closed, since somebody may hold it still.
 *
 * @param uses all that there are.
 * @param now milliseconds since whenever.
 */
export function keepDatabases<Use extends string>(
  uses: readonly Use[],
  now: () => number = Date.now,
): KeptDatabases<Use> {
  /** By owner and use, in the order of last use. */
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
    of(owner, use, open) {
      const key = keyOf(owner, use)
      const database = ready.get(key)?.database ?? open()
      keep(key, database)
      retireUnused()
      return database
    },
    opened(owner, use) {
      const key = keyOf(owner, use)
      const database = ready.get(key)?.database
      if (database) keep(key, database)
      return database
    },
    pools: (use) => [...ready].flatMap(([key, { database }]) => (key.endsWith(keyOf('', use)) ? [database.pool] : [])),
    forget(owner) {
      void Promise.allSettled(uses.map((use) => close(keyOf(owner, use))))
    },
    async closeAll() {
      const stillHeld = [...retired].map((reference) => reference.deref()?.close())
      retired.clear()
      await Promise.all([...stillHeld, ...[...ready.keys()].map(close)])
    },
  }
}

const keyOf = (owner: string, use: string): string => `${owner} ${use}`
