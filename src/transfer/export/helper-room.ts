import type pg from 'pg'

/** How many sessions may help exports to read, and imports to load, in this process, all together. */
export interface HelperRoom {
  /** @returns how many of those that are wanted there is room for; to be given back. */
  take(wanted: number): number
  giveBack(count: number): void
}

/** @param most helping sessions at once. None gets more than half of those that are free, so that others get some, too. */
export function createHelperRoom(most: number): HelperRoom {
  let free = most
  return {
    take(wanted) {
      const taken = Math.min(wanted, Math.ceil(free / 2))
      free -= taken
      return taken
    },
    giveBack(count) {
      free += count
    },
  }
}

/** Where the sessions that help come from, where others need what the login may have. */
export interface HelperSource {
  readonly room: HelperRoom
  /** The same database with the same login, on connections that nothing else uses. */
  pool(): Promise<pg.Pool>
}
