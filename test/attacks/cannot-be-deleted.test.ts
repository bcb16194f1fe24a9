import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSweeping } from '../../src/jobs/start-sweeping.ts'
import { closeLogin } from '../../src/projects/project-login.ts'
import { createScratchProject, sweepScratchProjects } from '../../src/workers/scratch-projects.ts'
import { eventually } from '../support/eventually.ts'
import { query, withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * A project that the root token wants to be gone, and whose login does not want that.
 */

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(() => wharf.close())

/** Sessions that are ended are followed by others, each of which does the same and keeps its transaction. */
async function reconnecting(slug: string, sql: string): Promise<{ stop(): Promise<void> }> {
  const { href } = await loginUrl(wharf, slug)
  let stopped = false
  let held = 0
  const block = async (): Promise<void> => {
    while (!stopped) {
      const holding = withSession(href, async (session) => {
        const ended = new Promise<void>((resolve) => void session.once('end', resolve))
        await session.query(`BEGIN; ${sql}`)
        held += 1
        await Promise.race([ended, untilStopped])
      })
      await holding.catch(() => delay(5))
    }
  }
  let stop = (): void => undefined
  const untilStopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  const all = [block(), block()]
  await eventually(async () => held > 0).toBe(true)
  return {
    async stop() {
      stopped = true
      stop()
      await Promise.all(all)
    },
  }
}

const HOLDING: Readonly<Record<string, (slug: string) => string>> = {
  'its tables': (slug) => `LOCK TABLE "${slug}.live".item IN ACCESS SHARE MODE`,
  'the state of its stage, by a write': (slug) => `INSERT INTO "${slug}.live".item VALUES (1)`,
  'its own role': () => `ALTER ROLE CURRENT_USER PASSWORD 'another'`,
}

test.each(Object.entries(HOLDING))('cannot be deleted, since new sessions go on holding %s', async (what, sql) => {
  const slug = `held-${Object.keys(HOLDING).indexOf(what)}`
  await createProject(wharf, slug, 'CREATE TABLE item (id int)')
  const sessions = await reconnecting(slug, sql(slug))
  try {
    expect(await wharf.root.delete(`/projects/${slug}`)).toMatchObject({ status: 204 })
  } finally {
    await sessions.stop()
  }
  const [left] = await wharf.database.query(`SELECT count(*)::int AS count FROM pg_namespace WHERE nspname LIKE $1`, [
    `${slug}.%`,
  ])
  expect(left).toEqual({ count: 0 })
})

test('keeps a scratch project from being swept, since new sessions go on holding it', async () => {
  const job = '00000000-0000-4000-8000-000000000000'
  await createScratchProject(wharf.container, job, { slug: 'scratch-held', stages: [{ slug: 'live' }] })
  const sessions = await reconnecting('scratch-held', `CREATE TABLE "scratch-held.live".item ()`)
  try {
    await sweepScratchProjects(wharf.container)
  } finally {
    await sessions.stop()
  }
  expect(await wharf.database.query(`SELECT slug FROM control.project WHERE slug = 'scratch-held'`)).toEqual([])
})

test('a project whose deletion died after its login was closed is whole again after the next sweep', async () => {
  await createProject(wharf, 'halfway', 'CREATE TABLE item (id int); INSERT INTO item VALUES (1)')
  const { href, username } = await loginUrl(wharf, 'halfway')
  const logsIn = async (): Promise<boolean> => {
    const answered = query(href, 'SELECT 1')
    return answered.then(
      () => true,
      () => false,
    )
  }
  await closeLogin(wharf.container.control.prisma, username)
  expect(await logsIn()).toBe(false)
  await startSweeping(wharf.container).stop()
  expect(await logsIn()).toBe(true)
  expect(await wharf.root.get('/content/halfway/live/item')).toMatchObject({ status: 200, json: [{ id: 1 }] })
})

test('a project that could not be deleted can be used as before', async () => {
  await createProject(wharf, 'kept', 'CREATE TABLE item (id int)')
  await withSession(wharf.database.superuserUrl, async (session) => {
    await session.query('BEGIN; LOCK TABLE "kept.live".item IN ACCESS SHARE MODE')
    expect(await wharf.root.delete('/projects/kept')).toMatchObject({ status: 409 })
  })
  expect(await wharf.root.get('/content/kept/live/item')).toMatchObject({ status: 200 })
  expect(await wharf.root.delete('/projects/kept')).toMatchObject({ status: 204 })
})
