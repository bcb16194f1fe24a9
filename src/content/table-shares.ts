import type pg from 'pg'
import { AppError } from '../errors.ts'
import { createTurnLine, type TurnLine } from '../lib/turn-line.ts'

/** How long a request waits for a connection, in milliseconds. */
const WAIT_MS = 10_000

const RETRY_AFTER_SECONDS = 5

const lines = new WeakMap<pg.Pool, TurnLine>()

/** So many keep all connections busy until others come. */
const FEW = 10

/** How many requests of this process wait for a connection. */
let waiting = 0

/** What is to be done once few wait. */
const onceFew = new Set<() => void>()

/** Does something once few requests wait for a connection, and after a time at the latest. */
export function onceFewWait(limitMs: number, act: () => void): void {
  if (waiting <= FEW) return void setImmediate(act)
  const go = (): void => {
    clearTimeout(timer)
    onceFew.delete(go)
    act()
  }
  const timer = setTimeout(go, limitMs)
  onceFew.add(go)
}

/**
 * Takes a connection such that the requests for one table leave some for those of others, whatever they wait for: a table
 * may hold twice as many as are free. Alone that is 7 of 10, of two busy tables each may hold 4, and so on.
 *
 * @param table whose rows it is for.
 * @throws {AppError} DATABASE_UNAVAILABLE where none becomes free for it in time.
 */
export async function connectFor(pool: pg.Pool, table: string): Promise<pg.PoolClient> {
  const line = lines.get(pool) ?? createLine(pool)
  waiting += 1
  try {
    await line.enter([table])
  } finally {
    waiting -= 1
    if (waiting <= FEW) for (const go of onceFew) go()
  }
  const giveBack = (): void => line.leave([table])
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

function createLine(pool: pg.Pool): TurnLine {
  const line = createTurnLine({
    mayGo: ([table = ''], taken, total) => (taken.get(table) ?? 0) < 2 * (pool.options.max - total),
    waitMs: WAIT_MS,
    failure: noneFree,
  })
  lines.set(pool, line)
  return line
}

const noneFree = (): AppError =>
  new AppError('DATABASE_UNAVAILABLE', 'no connection became free for this table in time', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
