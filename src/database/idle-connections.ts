import { once } from 'node:events'
import type pg from 'pg'
import { within } from '../lib/within.ts'
import type { ConnectionTarget } from './client-config.ts'
import { isLoginFull, isWithoutSession } from './sqlstate-meanings.ts'

/** How often it is tried, since others may take what was given back. */
const MAX_ATTEMPTS = 4

/** How long a connection may take to end, in milliseconds. */
const END_MS = 2_000

/** The connections of this process that nobody uses at the moment, so that they are there for those who need one. */
export interface IdleConnections {
  /** Counts on what a pool does not use. @param target what it is connected to. */
  add(pool: pg.Pool, target: ConnectionTarget): void
  /**
   * Connects. Where the server has no room for a session, or the login has as many as it may have, an idle connection of
   * another pool is ended that takes that room, of the one that was not used for the longest, and it is tried again.
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
  const giveBack = async ({ server, login }: ServerLogin, isLoginAlone: boolean): Promise<boolean> => {
    const isInTheWay = ({ of }: Known) => of.server === server && (!isLoginAlone || of.login === login)
    const idle = [...known.values()].find((each) => isInTheWay(each) && idleOf(each.pool) > 0)
    if (!idle) return false
    await endOne(idle.pool)
    return true
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
          if (!(await giveBack(loginOf(target), isLoginFull(error)))) throw error
        }
      }
    },
  }
}

/** How many connections of a pool nobody uses or waits for. */
const idleOf = (pool: pg.Pool): number => pool.idleCount - pool.waitingCount

/** Ends one of them, and waits until the server has its room again. */
async function endOne(pool: pg.Pool): Promise<void> {
  // Nobody else gets it, and none is opened for this, since it is there.
  const client = await pool.connect()
  const ended = once(client, 'end')
  client.release(true)
  await within(END_MS, Promise.allSettled([ended]), () => undefined)
}

function loginOf(target: ConnectionTarget): ServerLogin {
  if (typeof target !== 'string') {
    const { host, hostAddress, port, user } = target
    return { server: `${hostAddress ?? host}:${port}`, login: user }
  }
  if (!URL.canParse(target)) return { server: target, login: '' }
  const { hostname, port, username } = new URL(target)
  return { server: `${hostname}:${port || 5432}`, login: decodeURIComponent(username) }
}
