import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { PAUSE, withPausePoint } from '../../support/database/pause-point.ts'
import { openTransactions } from '../../support/database/transactions.ts'
import { eventually } from '../../support/eventually.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject, loginUrl } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Rows that are loaded stop at the pause point; plain text does not. */
const STRUCTURE = `
  CREATE DOMAIN pausing AS integer CHECK (${PAUSE});
  CREATE TABLE item (n pausing);
  CREATE TABLE note (what text);`

let wharf: TestWharf
let archive: string
let made = 0

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', `${STRUCTURE} INSERT INTO item VALUES (1); INSERT INTO note VALUES ('new')`)
  archive = await exportOf(wharf.root, 'source')
})

afterAll(() => wharf.close())

async function makeTarget(): Promise<string> {
  made += 1
  const slug = `target${made}`
  await createProject(wharf, slug, `${STRUCTURE} INSERT INTO note VALUES ('old')`)
  return slug
}

const importInto = (slug: string) => sendArchive(wharf.root, archive, { query: `?targetSlug=${slug}` })

const notesOf = async (slug: string): Promise<string[]> =>
  (await wharf.database.query<{ what: string }>(`SELECT what FROM "${slug}.live".note ORDER BY 1`)).map(
    ({ what }) => what,
  )

const asLogin = async <T>(slug: string, use: (client: pg.Client) => Promise<T>): Promise<T> =>
  withSession((await loginUrl(wharf, slug)).href, use)

/** Passes once what an earlier import was refused with has been dropped, which waits for locks, too. */
const nothingIsLoading = (): Promise<void> =>
  eventually(() => wharf.database.query(`SELECT schema_name FROM system.side_schema WHERE kind <> 'kept'`)).toEqual([])

/** The statements that do. */
const waitingForLocks = async (): Promise<readonly string[]> =>
  (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock').map(({ query }) => query)

const write = (slug: string, what: string): string => `INSERT INTO "${slug}.live".note VALUES ('${what}')`

test('a write that commits while an import loads is not lost: the import is refused', async () => {
  const slug = await makeTarget()
  await withPausePoint(wharf, async (pausePoint) => {
    const importing = importInto(slug)
    await pausePoint.reached()
    await asLogin(slug, (client) => client.query(write(slug, 'meanwhile')))
    await pausePoint.release()
    expect(await importing).toMatchObject({
      status: 409,
      text: expect.stringContaining('the stage was written to while the import ran; nothing was changed'),
    })
  })
  expect(await notesOf(slug)).toEqual(['meanwhile', 'old'])
  expect(await importInto(slug)).toMatchObject({ status: 200 })
  expect(await notesOf(slug)).toEqual(['new'])
})

test.each([
  'GRANT SELECT ON "$.live".note TO PUBLIC',
  'GRANT USAGE ON SCHEMA "$.live" TO PUBLIC',
  'ALTER DEFAULT PRIVILEGES IN SCHEMA "$.live" GRANT SELECT ON TABLES TO PUBLIC',
])('rights that are granted while an import loads are not lost: %s', async (statement) => {
  const slug = await makeTarget()
  await withPausePoint(wharf, async (pausePoint) => {
    const importing = importInto(slug)
    await pausePoint.reached()
    await asLogin(slug, (client) => client.query(statement.replace('$', slug)))
    await pausePoint.release()
    expect(await importing).toMatchObject({ status: 409, text: expect.stringContaining('rights on the stage') })
  })
  expect(await notesOf(slug)).toEqual(['old'])
  expect(await importInto(slug)).toMatchObject({ status: 200 })
})

test('a write that has not committed when all is loaded is not lost: the import is refused', async () => {
  const slug = await makeTarget()
  await asLogin(slug, async (writer) => {
    await writer.query(`BEGIN; ${write(slug, 'uncommitted')}`)
    const answer = await importInto(slug)
    expect(answer).toMatchObject({
      status: 409,
      text: expect.stringContaining('somebody is writing to the stage'),
      headers: { 'retry-after': expect.any(String) },
    })
    await writer.query('COMMIT')
  })
  expect(await notesOf(slug)).toEqual(['old', 'uncommitted'])
})

test('a write that commits while the import waits for it is not lost either', async () => {
  const slug = await makeTarget()
  await asLogin(slug, async (writer) => {
    await writer.query(`BEGIN; ${write(slug, 'late')}`)
    const importing = importInto(slug)
    await eventually(async () => (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock').length).toBe(1)
    await writer.query('COMMIT')
    expect(await importing).toMatchObject({ status: 409 })
  })
  expect(await notesOf(slug)).toEqual(['late', 'old'])
})

test.each(['told afresh', 'prepared before'])(
  'a write that begins during the swap, %s, goes into what was swapped in',
  async (how) => {
    const slug = await makeTarget()
    await asLogin(slug, async (writer) => {
      if (how !== 'told afresh') {
        await writer.query(`PREPARE add AS ${write(slug, 'begun')}`)
        await writer.query('BEGIN; EXECUTE add; ROLLBACK')
      }
      await nothingIsLoading()
      await withSession(wharf.database.url, async (keeper) => {
        const [importing, writing] = await withPausePoint(wharf, async (pausePoint) => {
          const importing = importInto(slug)
          await pausePoint.reached()
          // The swap comes to this table after it has renamed the schemas.
          await keeper.query('BEGIN; LOCK TABLE system.side_schema IN ACCESS EXCLUSIVE MODE')
          await pausePoint.release()
          // A session that was paused may still be seen waiting for it.
          await eventually(waitingForLocks).toEqual([expect.stringContaining('side_schema')])
          const writing = writer.query(how === 'told afresh' ? write(slug, 'begun') : 'EXECUTE add')
          await eventually(waitingForLocks).toHaveLength(2)
          return [importing, writing] as const
        })
        await keeper.query('COMMIT')
        expect(await importing).toMatchObject({ status: 200 })
        await writing
      })
    })
    expect(await notesOf(slug)).toEqual(['begun', 'new'])
  },
)

test('what an import has loaded is out of reach until it is the stage', async () => {
  const slug = await makeTarget()
  await nothingIsLoading()
  await asLogin(slug, async (session) => {
    await withSession(wharf.database.url, async (keeper) => {
      const importing = await withPausePoint(wharf, async (pausePoint) => {
        const importing = importInto(slug)
        await pausePoint.reached()
        const [{ name } = { name: '' }] = await wharf.database.query<{ name: string }>(
          `SELECT schema_name AS name FROM system.side_schema WHERE schema_name LIKE '${slug}.%'`,
        )
        await keeper.query('BEGIN; LOCK TABLE system.side_schema IN ACCESS EXCLUSIVE MODE')
        await pausePoint.release()
        await eventually(waitingForLocks).toEqual([expect.stringContaining('side_schema')])
        for (const attempt of [
          `DELETE FROM "${name}".note`,
          `ALTER TABLE "${name}".note ADD more text`,
          `GRANT USAGE ON SCHEMA "${name}" TO CURRENT_USER`,
        ]) {
          await expect(session.query(attempt), attempt).rejects.toMatchObject({ code: '42501' })
        }
        return [importing] as const
      })
      await keeper.query('COMMIT')
      expect(await importing[0]).toMatchObject({ status: 200 })
    })
    expect(await notesOf(slug)).toEqual(['new'])
    await session.query(`ALTER TABLE "${slug}.live".note ADD more text`)
  })
})

test('what an import has replaced takes no writes, and says why', async () => {
  const slug = await makeTarget()
  expect(await importInto(slug)).toMatchObject({ status: 200 })
  const [kept] = await wharf.database.query<{ name: string }>(
    `SELECT schema_name AS name FROM system.side_schema WHERE kind = 'kept' AND schema_name LIKE $1`,
    [`${slug}.%`],
  )
  await asLogin(slug, async (client) => {
    await expect(client.query(`INSERT INTO "${kept?.name}".note VALUES ('x')`)).rejects.toMatchObject({
      code: '40001',
      message: 'the stage was replaced while this statement ran; run it again',
    })
    expect(await wharf.root.post(`/projects/${slug}/stages/live/undo`)).toMatchObject({ status: 200 })
    await client.query(write(slug, 'again'))
  })
  expect(await notesOf(slug)).toEqual(['again', 'old'])
})

test('somebody who reads is not waited for, nor does he wait', async () => {
  const slug = await makeTarget()
  await asLogin(slug, async (reader) => {
    await reader.query(`BEGIN; SELECT FROM "${slug}.live".note`)
    expect(await importInto(slug)).toMatchObject({ status: 200 })
  })
  expect(await notesOf(slug)).toEqual(['new'])
})
