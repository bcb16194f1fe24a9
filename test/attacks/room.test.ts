import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { createRoom, limitConnections, type RoomOptions } from '../../src/database/room.ts'
import { createLogger } from '../../src/logger.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { openSession, withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf } from '../support/service/wharf.ts'

/*
 * Several projects that together take the connections that Wharf needs, on a server that reserves too few for it.
 */

describeOnEachServer(
  (wharf) => {
    let lines: string[]

    /** Of a process that needs so many connections that the server's reserve does not do. */
    function withNeed(ownConnections: number): RoomOptions {
      lines = []
      const logger = createLogger(
        'warn',
        new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }),
      )
      return { logger, projectConnections: 0, ownConnections }
    }

    const limits = async (): Promise<readonly number[]> => {
      const rows = await wharf().database.query<{ limit: number }>(
        `SELECT DISTINCT rolconnlimit AS "limit" FROM control.project JOIN pg_roles ON rolname = login`,
      )
      return rows.map(({ limit }) => limit)
    }

    /** What logins without privileges may have, and how much of it is for others than Wharf. */
    async function ordinary(): Promise<{ readonly all: number; readonly reserved: number }> {
      const [row] = await wharf().database.query<{ all: number; reserved: number }>(
        `SELECT reserved, current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - reserved AS all
     FROM (SELECT coalesce(current_setting('reserved_connections', true), '0')::int AS reserved) settings`,
      )
      if (!row) throw new Error('the server has no settings')
      return row
    }

    async function start(options: RoomOptions): Promise<void> {
      await withSession(wharf().database.url, (client) => limitConnections(client, options))
    }

    test('takes all connections by several full projects: the more there are, the fewer each may have', async () => {
      const { all, reserved } = await ordinary()
      const own = 30
      const options = withNeed(reserved + own)
      const { pool } = wharf().container.control
      const room = createRoom(pool, options)
      for (const count of [1, 2, 3, 4]) {
        await createProject(wharf(), `project-${count}`)
        await room.share()
        const [limit = 0, ...others] = await limits()
        expect(others).toEqual([])
        expect(limit).toBe(Math.min(Math.floor(all / 3), Math.floor((all - own) / (count + 1))))
        expect(limit * count).toBeLessThanOrEqual(all - own)
        expect(await room.limitOfNew()).toBe(limit)
      }
      await start(options)
      expect(lines).toEqual([])
    })

    test('is told at the start where projects can take what is not reserved', async () => {
      const { all, reserved } = await ordinary()
      await start(withNeed(reserved + all))
      expect(await limits()).toEqual([12])
      expect(lines.join('')).toContain('projects can take connections that Wharf may need')
    })

    test('where enough is reserved, a project may have a third of the rest, however many there are', async () => {
      const { all, reserved } = await ordinary()
      await start(withNeed(reserved))
      expect(await limits()).toEqual([Math.floor(all / 3)])
      expect(lines).toEqual([])
    })

    test('keeps a limit away from its login by holding its own role when a process starts', async () => {
      await createProject(wharf(), 'holder')
      const { href, username } = await loginUrl(wharf(), 'holder')
      const start = async (limit: number): Promise<string> => {
        const environment = { WHARF_PROJECT_CONNECTIONS: String(limit) }
        const process = await startWharf({ beside: wharf(), environment })
        await process.close()
        return process.log()
      }
      const session = await openSession(href)
      await session.query(`BEGIN; ALTER ROLE CURRENT_USER PASSWORD 'another'`)
      expect(await start(40)).not.toContain(`"login":"${username}"`)
      await session.end().catch(() => undefined)
      expect(await limits()).toEqual([40])
      await start(30)
      expect(await limits()).toEqual([30])
    })
  },
  { alone: true, oneIsEnough: true },
)
