import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Columns } from './pipeline.ts'

/** How many statements a session keeps: each takes some 50 kB of its memory. */
const MAX_STATEMENTS = 32

/** A longer text is not kept. */
const MAX_TEXT_LENGTH = 8_192

/**
 * How long a statement is kept, in milliseconds. PostgreSQL plans it again where what it names has changed, but not where
 * something else has come up that its names would mean now, such as a function for other types.
 */
const MAX_AGE_MS = 30_000

/** How old the time may be by which that is told: otherwise, every look has a timer of its own set. */
const TTL_RESOLUTION_MS = 1_000

interface Kept {
  readonly name: string
  readonly columns: Columns
}

/** What a session has prepared, by text, and what it has set. */
export interface KeptStatements {
  /** The settings that the session has beside those that it began with; undefined where it has none, or they are not known. */
  settings: string | undefined
  find(key: string): Kept | undefined
  /** @param lasts for a text that names nothing: it means the same for as long as the session lasts. */
  keep(key: string, kept: Kept, lasts: boolean): void
  /** A name that no statement of the session has; undefined for a text that is not kept. */
  nameFor(text: string): string | undefined
  /** Has the session told to forget a name with the next message. */
  forget(name: string): void
  /** The names that the session is to forget now. */
  takeForgotten(): readonly string[]
}

const sessions = new WeakMap<pg.ClientBase, KeptStatements>()

export function keptStatementsOf(client: pg.ClientBase): KeptStatements {
  const kept = sessions.get(client) ?? createKeptStatements()
  sessions.set(client, kept)
  return kept
}

/** To be called when a session has none of them any more. */
export const forgetKeptStatements = (client: pg.ClientBase): void => void sessions.delete(client)

function createKeptStatements(): KeptStatements {
  let forgotten: string[] = []
  let count = 0
  const lasting = new Map<string, Kept>()
  const kept = new LRUCache<string, Kept>({
    max: MAX_STATEMENTS,
    ttl: MAX_AGE_MS,
    ttlResolution: TTL_RESOLUTION_MS,
    // One that is kept again after its time has another name.
    dispose: ({ name }) => void forgotten.push(name),
  })
  return {
    settings: undefined,
    find: (key) => lasting.get(key) ?? kept.get(key),
    keep: (key, statement, lasts) => void (lasts ? lasting : kept).set(key, statement),
    nameFor(text) {
      if (text.length > MAX_TEXT_LENGTH) return undefined
      count += 1
      return `wharf_${count}`
    },
    forget: (name) => void forgotten.push(name),
    takeForgotten() {
      const taken = forgotten
      forgotten = []
      return taken
    },
  }
}
