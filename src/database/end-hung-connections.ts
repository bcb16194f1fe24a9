import pg from 'pg'

/** How long a connection is in use until it is asked whether the server still answers, in milliseconds. */
const LONG_MS = 3_000

/** How often it is looked, in milliseconds. */
const EVERY_MS = 500

/**
 * Ends a pool's connections that have been in use for a while, where the server answers nobody any more: it may hang with
 * all its connections open, and a query on one would wait without end. What takes long goes on for as long as the
 * server answers others.
 *
 * @param answers whether it does; asked for each pool once at a time.
 */
export function endHungConnections(pool: pg.Pool, answers: () => Promise<boolean>): void {
  /** Since when it has been in use, or the server was last seen to answer. */
  const usedSinceMs = new Map<pg.PoolClient, number>()
  let isLooking = false

  const look = async (): Promise<void> => {
    const longAgoMs = performance.now() - LONG_MS
    const long = [...usedSinceMs].filter(([, sinceMs]) => sinceMs <= longAgoMs)
    if (long.length === 0) return
    const lives = await answers()
    for (const [client, sinceMs] of long) {
      // Given back meanwhile, and perhaps lent again.
      if (usedSinceMs.get(client) !== sinceMs) continue
      if (lives) usedSinceMs.set(client, performance.now())
      else if (client instanceof pg.Client) void Promise.allSettled([client.end()])
    }
  }

  const lookAgain = (): void => {
    isLooking = usedSinceMs.size > 0
    if (!isLooking) return
    setTimeout(() => void look().finally(lookAgain), EVERY_MS).unref()
  }

  pool.on('acquire', (client) => {
    usedSinceMs.set(client, performance.now())
    if (!isLooking) lookAgain()
  })
  pool.on('release', (_error, client) => {
    usedSinceMs.delete(client)
  })
}
