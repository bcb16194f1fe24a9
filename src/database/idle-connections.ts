import { once } from 'node:events'
import type pg from 'pg'
import { within } from '../lib/within.ts'
import type { ConnectionTarget } from './client-config.ts'
import { isLoginFull, isWithoutSession } from './sqlstate-meanings.ts'

/** How many are given back at once, at least, where there are as many: others will want one, too. */
const GIVEN_BACK = 10

/** How often a connection is tried again, since others may take what was given back. */
const MAX_ATTEMPTS = 5

/** How long a connection may take to end, in milliseconds. */
const END_MS = 2_000

/** The connections of this process that nobody uses at the moment, so that they are there for those who need one. */
export interface IdleConnections {
  /** Counts on what a pool does not use. @param target what it is connected to. */
  add(pool: pg.Pool, target: ConnectionTarget): void
  /**
   * Connects. Where the server has no room for a session, or the login has as many as it may have, idle connections of other
   * pools are ended that take that room, those of pools first that were not used for the longest, and it is tried again.
   *
   * @throws what `connect` throws, where there is none to end.
   */
  connecting<T>(target: ConnectionTarget, connect: () => Promise<T>): Promise<T>
}

/** A server, and a login there: both have room for so many sessions. */
interface ServerLogin {
  readonly server: string
  readonly login: string
}

interface Known {
  readonly pool: pg.Pool
  readonly of: ServerLogin
}

export function createIdleConnections(): IdleConnections {
  /** Those that have connections, in the order of last use. */
  const known = new Map<pg.Pool, Known>()
  const underWay = new Map<string, Promise<number>>()

  const giveBack = async (pools: readonly pg.Pool[]): Promise<number> => {
    let count = 0
    for (const pool of pools) {
      if (count >= GIVEN_BACK) break
      count += await endIdle(pool)
    }
    return count
  }

  /** Those who ask at the same moment share what is given back. */
  const giveBackTogether = ({ server, login }: ServerLogin, isLoginAlone: boolean): Promise<number> => {
    const key = JSON.stringify(isLoginAlone ? [server, login] : [server])
    const isInTheWay = ({ of }: Known) => of.server === server && (!isLoginAlone || of.login === login)
    const pools = [...known.values()].filter(isInTheWay).map(({ pool }) => pool)
    const giving = underWay.get(key) ?? giveBack(pools).finally(() => underWay.delete(key))
    underWay.set(key, giving)
    return giving
  }

  return {
    add(pool, target) {
      const entry = { pool, of: loginOf(target) }
      const keep = (): void => {
        known.delete(pool)
        known.set(pool, entry)
      }
      pool.on('connect', keep)
      pool.on('release', keep)
      pool.on('remove', () => {
        if (pool.totalCount === 0) known.delete(pool)
      })
    },
    async connecting(target, connect) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await connect()
        } catch (error) {
          if (!isWithoutSession(error) || attempt === MAX_ATTEMPTS) throw error
          if ((await giveBackTogether(loginOf(target), isLoginFull(error))) === 0) throw error
        }
      }
    },
  }
}

/** Ends the connections of a pool that nobody uses or waits for. @returns how many, once the server has their room again. */
async function endIdle(pool: pg.Pool): Promise<number> {
  // None is opened for this: each of these gets one that is there.
  const idle = Array.from({ length: Math.max(0, pool.idleCount - pool.waitingCount) }, () => pool.connect())
  const clients = (await Promise.allSettled(idle)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const ended = clients.map((client) => {
    const end = once(client, 'end')
    client.release(true)
    return end
  })
  await within(END_MS, Promise.allSettled(ended), () => undefined)
  return clients.length
}

function loginOf(target: ConnectionTarget): ServerLogin {
  if (typeof target !== 'string') {
    const { host, hostAddress, port, user } = target
    return { server: `${hostAddress ?? host}:${port}`, login: user }
  }
  if (!URL.canParse(target)) return { server: target, login: '' }
  const { host, username } = new URL(target)
  return { server: host, login: decodeURIComponent(username) }
}
