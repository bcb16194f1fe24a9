import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { freeNotificationQueue } from '../../src/database/notification-queue.ts'
import { describeOnEachServer } from '../support/servers/each-server.ts'
import { openSession, withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'

/*
 * The server has one queue of notifications for everybody.
 */

describeOnEachServer(
  (wharf) => {
    beforeAll(async () => {
      for (const slug of ['mallory', 'other']) await createProject(wharf(), slug)
    })

    /** The statements one by one: LISTEN counts from its commit on. */
    async function openSessionOf(
      slug: string,
      ...statements: string[]
    ): Promise<{ client: pg.Client; isOpen(): Promise<boolean> }> {
      const client = await openSession((await loginUrl(wharf(), slug)).href)
      for (const sql of statements) await client.query(sql)
      return {
        client,
        isOpen: () =>
          client.query('SELECT 1').then(
            () => true,
            () => false,
          ),
      }
    }

    const usage = async (): Promise<number> => {
      const [row] = await wharf().database.query<{ usage: number }>('SELECT pg_notification_queue_usage() AS usage')
      return row?.usage ?? 0
    }

    test('fills the queue of notifications of all projects, by a listener that does not end its transaction', async () => {
      const { prisma } = wharf().container.control
      const blocker = await openSessionOf('mallory', 'LISTEN x', 'BEGIN', 'SELECT 1')
      const idle = await openSessionOf('other', 'LISTEN x')
      const later = await openSessionOf('other', 'BEGIN', 'SELECT 1')
      try {
        const before = await usage()
        await withSession((await loginUrl(wharf(), 'mallory')).href, (filler) =>
          filler.query(`SELECT count(pg_notify('x', n || repeat('x', 7900))) FROM generate_series(1, 300) n`),
        )
        // The other listener has taken its own by then, and only the one with a transaction keeps them.
        await expect(idle.isOpen()).resolves.toBe(true)
        const full = await usage()
        expect(full).toBeGreaterThan(before)
        expect(await freeNotificationQueue(prisma)).toEqual([])
        expect(await blocker.isOpen()).toBe(true)

        const [ended, ...others] = await freeNotificationQueue(prisma, (before + full) / 2)
        expect(ended).toMatchObject({ login: (await loginUrl(wharf(), 'mallory')).username })
        expect(others).toEqual([])
        expect([await blocker.isOpen(), await idle.isOpen(), await later.isOpen()]).toEqual([false, true, true])
        expect(await usage()).toBeLessThan(full)
      } finally {
        for (const { client } of [blocker, idle, later]) await client.end().catch(() => undefined)
      }
    })
  },
  { alone: true },
)
