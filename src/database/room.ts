import type pg from 'pg'
import type { Logger } from '../logger.ts'
import { withClient } from './clients.ts'
import { quoteIdentifier } from './quoting.ts'
import { withStartLock } from './start-lock.ts'

/** What share of the server's connections one project's login may take at most, where nobody says how many. */
const SHARE = 1 / 3

/** How many it may take at least where Wharf's own are reserved: what one process of Wharf may open for a project. */
const LEAST_BESIDE_RESERVE = 28

/** And where they are not: enough to read, write, import and export, with `PROJECT_BUSY` where much comes at once. */
const LEAST = 12

/** How often a login is altered that holds its own role. */
const MAX_ATTEMPTS = 5

export interface RoomOptions {
  readonly logger: Logger
  /** How many sessions each project's login may have; 0 lets the server's `max_connections` decide. */
  readonly projectConnections: number
  /** How many connections this process may open for Wharf's own login. */
  readonly ownConnections: number
}

/** How the server's connections are shared among the projects. */
export interface Room {
  /** How many sessions the login of a new project may have. */
  limitOfNew(): Promise<number>
  /** Gives their limit to the logins that have another: it can become less with each project. */
  share(): Promise<void>
}

interface Server {
  /** Connections that logins without privileges may have, all together. */
  readonly ordinary: number
  /** Connections beside those that only Wharf's login, and its like, may have. */
  readonly reserved: number
  /** Projects, but for those that jobs make for a while. */
  readonly projects: number
}

/** @param pool of Wharf's own login, which made the projects' and so may alter them. */
export function createRoom(pool: pg.Pool, options: RoomOptions): Room {
  return {
    limitOfNew: async () => limitOf(await readServer(pool), options),
    share: () =>
      withClient(pool, async (client) => giveLimit(client, limitOf(await readServer(client), options), options)),
  }
}

/**
 * Sees to it that projects' logins cannot take all of the server's connections: says how many sessions each may have, and
 * holds those to it that there are.
 *
 * @param client of Wharf's own login, which made the projects' and so may alter them.
 */
export async function limitConnections(client: pg.Client, options: RoomOptions): Promise<void> {
  const server = await readServer(client)
  const { ownConnections, logger } = options
  const limit = limitOf(server, options)
  const { ordinary, reserved, projects } = server
  if (ordinary < ownNeedOf(server, options) + projects * limit && reserved < ownConnections) {
    logger.warn(
      { connections: ordinary, reserved, ownConnections, projects, connectionLimit: limit },
      'projects can take connections that Wharf may need: reserve them for it, raise max_connections, or lower WHARF_PROJECT_CONNECTIONS',
    )
  }
  await giveLimit(client, limit, options)
}

/** What Wharf's own logins need of the connections that anybody may take. */
const ownNeedOf = ({ reserved }: Server, { ownConnections }: RoomOptions): number =>
  Math.max(0, ownConnections - reserved)

/**
 * Where Wharf's own connections are reserved, each project may have a good share of the others. Where they are not, all
 * projects together, and one more, leave enough of them, as long as each gets the least that it can work with.
 */
function limitOf(server: Server, options: RoomOptions): number {
  if (options.projectConnections > 0) return options.projectConnections
  const share = Math.floor(server.ordinary * SHARE)
  const ownNeed = ownNeedOf(server, options)
  if (ownNeed === 0) return Math.max(LEAST_BESIDE_RESERVE, share)
  return Math.max(LEAST, Math.min(share, Math.floor((server.ordinary - ownNeed) / (server.projects + 1))))
}

type Asking = Pick<pg.ClientBase, 'query'>

async function readServer(client: Asking): Promise<Server> {
  const { rows } = await client.query<Server>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
              - settings.reserved AS ordinary,
            CASE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = 'pg_use_reserved_connections'
                                AND pg_has_role(current_user, oid, 'USAGE')) THEN settings.reserved ELSE 0 END AS reserved,
            (SELECT count(*)::int FROM control.project WHERE scratch_for IS NULL AND login IS NOT NULL) AS projects
     FROM (SELECT coalesce(current_setting('reserved_connections', true), '0')::int AS reserved) settings`,
  )
  return rows[0] ?? { ordinary: 0, reserved: 0, projects: 0 }
}

async function loginsWithOther(client: Asking, limit: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ login: string }>(
    `SELECT login FROM control.project JOIN pg_catalog.pg_roles ON rolname = login WHERE rolconnlimit <> $1 ORDER BY login`,
    [limit],
  )
  return rows.map(({ login }) => login)
}

/** Gives a limit to the logins that have another. */
async function giveLimit(client: pg.ClientBase, limit: number, options: RoomOptions): Promise<void> {
  if ((await loginsWithOther(client, limit)).length === 0) return
  await withStartLock(client, options, async () => {
    await client.query(`SET LOCAL lock_timeout = '1s'`)
    for (const login of await loginsWithOther(client, limit)) {
      try {
        await alterLogin(client, login, limit)
      } catch (error) {
        options.logger.warn(
          { err: error, login },
          "a project's login has no limit of its sessions yet; it is tried again later",
        )
      }
    }
  })
}

/**
 * A login can hold its own role, by changing its password in a transaction that it does not end: sessions that do are
 * ended.
 */
async function alterLogin(client: pg.ClientBase, login: string, limit: number): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await client.query('SAVEPOINT before_login')
    try {
      await client.query(`ALTER ROLE ${quoteIdentifier(login)} CONNECTION LIMIT ${limit}`)
      return
    } catch (error) {
      await client.query('ROLLBACK TO SAVEPOINT before_login')
      if (attempt === MAX_ATTEMPTS) throw error
    }
    await client.query(END_CHANGES_OF_ITSELF, [login])
  }
}

/** A session that alters a role locks `pg_authid` for writing until its transaction ends. */
const END_CHANGES_OF_ITSELF = `
  SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
  WHERE usename = $1 AND pid IN (SELECT pid FROM pg_locks
                                 WHERE relation = 'pg_authid'::regclass AND mode = 'RowExclusiveLock' AND granted)`
