import type pg from 'pg'
import { AppError } from '../errors.ts'

/** How long a request waits for a connection, in milliseconds. */
const WAIT_MS = 10_000

const RETRY_AFTER_SECONDS = 5

interface Waiting {
  readonly table: string
  readonly go: () => void
}

/** How many connections of a pool are in use for which table, and who waits for one, in the order of asking. */
interface Shares {
  readonly taken: Map<string, number>
  readonly waiting: Set<Waiting>
  total: number
}

const sharesOf = new WeakMap<pg.Pool, Shares>()

/**
 * Takes a connection such that the requests for one table leave some for those of others, whatever they wait for: a table
 * may hold twice as many as are free. Alone that is 7 of 10, of two busy tables each may hold 4, and so on.
 *
 * @param table whose rows it is for.
 * @throws {AppError} DATABASE_UNAVAILABLE where none becomes free for it in time.
 */
export async function connectFor(pool: pg.Pool, table: string): Promise<pg.PoolClient> {
  const shares = sharesOf.get(pool) ?? { taken: new Map(), waiting: new Set(), total: 0 }
  sharesOf.set(pool, shares)
  const { max } = pool.options
  if (mayTake(shares, table, max)) count(shares, table, 1)
  else await share(shares, table)
  const giveBack = (): void => {
    count(shares, table, -1)
    for (const next of shares.waiting) {
      if (!mayTake(shares, next.table, max)) continue
      count(shares, next.table, 1)
      next.go()
    }
  }
  const client = await pool.connect().catch((error: unknown) => {
    giveBack()
    throw error
  })
  const { release } = client
  client.release = (error) => {
    client.release = release
    release.call(client, error)
    giveBack()
  }
  return client
}

const mayTake = ({ taken, total }: Shares, table: string, max: number): boolean =>
  (taken.get(table) ?? 0) < 2 * (max - total)

function count(shares: Shares, table: string, change: 1 | -1): void {
  const sum = (shares.taken.get(table) ?? 0) + change
  if (sum === 0) shares.taken.delete(table)
  else shares.taken.set(table, sum)
  shares.total += change
}

/** Waits until it is this one's turn; its share is taken by then. */
function share({ waiting }: Shares, table: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.delete(asking)
      reject(noneFree())
    }, WAIT_MS)
    const asking: Waiting = {
      table,
      go() {
        waiting.delete(asking)
        clearTimeout(timer)
        resolve()
      },
    }
    waiting.add(asking)
  })
}

const noneFree = (): AppError =>
  new AppError('DATABASE_UNAVAILABLE', 'no connection became free for this table in time', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
