import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shortenLogs } from '../../src/events/shorten-logs.ts'
import { exportOf } from '../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { query, withSession } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLE = 'CREATE TABLE item (id int PRIMARY KEY)'
const FOR_EVER = { days: 0, events: 0 }

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(TABLE)
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  await createProject(wharf, 'hosted', TABLE)
  const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public', logEvents: true }] }
  const made = await wharf.root.post('/projects', { json: { slug: 'attached', attach } })
  expect(made.status, made.text).toBe(201)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const lineOf = (archive: string, kind: string): string =>
  archive.split('\n').find((line) => line.startsWith(`{"${kind}":`)) ?? ''

const archiveOf = (slug: string): Promise<string> => exportOf(wharf.root, slug, { system: true })

interface LoggedEvent {
  readonly id: string
  readonly rows?: readonly string[]
  readonly occurredAt: string
}

const eventsOf = (archive: string): LoggedEvent[] =>
  archive
    .split('\n')
    .filter((line) => line.startsWith('{"event":'))
    .map((line) => JSON.parse(line).event)

/** The ids of the items that the events of an archive are about, in their order. */
const loggedIn = (archive: string): string[] =>
  eventsOf(archive).flatMap(({ rows = [] }) => rows.map((row) => JSON.parse(row).id).join() || [])

interface Log {
  readonly slug: string
  readonly url: () => string
  readonly table: string
  readonly schema: string
}

const LOGS: readonly Log[] = [
  { slug: 'hosted', url: () => wharf.database.superuserUrl, table: '"hosted.live".item', schema: 'system' },
  { slug: 'attached', url: () => external.database.superuserUrl, table: 'public.item', schema: 'wharf_log' },
]

describe.each(LOGS)('the event log of a project that is $slug', ({ slug, url, table, schema }) => {
  const stageId = async (): Promise<string> => {
    const project = await wharf.container.control.prisma.project.findFirstOrThrow({
      where: { slug },
      include: { stages: true },
    })
    return project.stages[0]?.id ?? ''
  }
  const insert = (...ids: readonly number[]): Promise<unknown> =>
    query(url(), `INSERT INTO ${table} SELECT unnest('{${ids.join()}}'::int[])`)
  /** Makes all that has happened so far so many days older. */
  const age = async (days: number): Promise<void> => {
    await query(
      url(),
      `UPDATE ${schema}.event SET occurred_at = occurred_at - interval '${days} days' WHERE stage_id = '${await stageId()}'`,
    )
  }
  const keep = async (eventLog: object): Promise<void> => {
    const answer = await wharf.root.request('PATCH', `/projects/${slug}`, { json: { eventLog } })
    expect(answer.status, answer.text).toBe(200)
  }
  const reference = async (): Promise<unknown> =>
    (await wharf.root.get(`/content/${slug}/live/item`)).headers['x-service-ref']

  test('loses what is too old, the oldest first, and the archive says since when all is there', async () => {
    await insert(1)
    await insert(2)
    await age(40)
    await insert(3)
    const whole = await archiveOf(slug)
    expect(lineOf(whole, 'system')).toBe('{"system":{}}')
    const before = await reference()
    await shortenLogs(wharf.container, { days: 30, events: 0 })
    const archive = await archiveOf(slug)
    expect(loggedIn(archive)).toEqual(['3'])
    const left = new Set(eventsOf(archive).map(({ id }) => id))
    const removed = eventsOf(whole).filter(({ id }) => !left.has(id))
    const latest = removed
      .map(({ occurredAt }) => occurredAt)
      .toSorted()
      .at(-1)
    expect(lineOf(archive, 'system')).toBe(`{"system":{"eventsSince":"${latest}"}}`)
    expect(await reference()).toBe(before)
  })

  test('keeps its latest event, however old it is', async () => {
    await age(365)
    await shortenLogs(wharf.container, { days: 1, events: 0 })
    expect(loggedIn(await archiveOf(slug))).toEqual(['3'])
  })

  test('keeps so many events, whole transactions or not', async () => {
    await insert(4)
    await query(
      url(),
      `BEGIN; INSERT INTO ${table} VALUES (5); INSERT INTO ${table} VALUES (6); INSERT INTO ${table} VALUES (7); COMMIT`,
    )
    await shortenLogs(wharf.container, { days: 0, events: 2 })
    expect(loggedIn(await archiveOf(slug))).toEqual(['6', '7'])
  })

  test('is shortened in as many steps as it takes', async () => {
    await query(url(), `DO $$ BEGIN FOR n IN 1001..1450 LOOP INSERT INTO ${table} VALUES (n); END LOOP; END $$`)
    await shortenLogs(wharf.container, { days: 0, events: 10 })
    const archive = await archiveOf(slug)
    expect(loggedIn(archive)).toEqual(Array.from({ length: 10 }, (_, n) => String(1441 + n)))
    expect(
      await query(url(), `SELECT count(*)::int AS n FROM ${schema}.transaction WHERE stage_id = '${await stageId()}'`),
    ).toEqual([{ n: 1 }])
  })

  test('goes by what is said of its project, then by what the server is configured to keep', async () => {
    await keep({ keepEvents: 0 })
    await shortenLogs(wharf.container, { days: 0, events: 5 })
    expect(loggedIn(await archiveOf(slug))).toHaveLength(10)
    await keep({ keepEvents: 7 })
    await shortenLogs(wharf.container, FOR_EVER)
    expect(loggedIn(await archiveOf(slug))).toHaveLength(7)
    await keep({ keepEvents: null })
    await shortenLogs(wharf.container, { days: 0, events: 6 })
    expect(loggedIn(await archiveOf(slug))).toHaveLength(6)
  })

  test('is read to its end by a snapshot that was taken before', async () => {
    await withSession(url(), async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      const count = async (): Promise<unknown> =>
        (await client.query(`SELECT count(*)::int FROM ${schema}.event WHERE stage_id = '${await stageId()}'`)).rows
      const before = await count()
      await shortenLogs(wharf.container, { days: 0, events: 3 })
      expect(await count()).toEqual(before)
      await client.query('COMMIT')
      expect(await count()).toEqual([{ count: 3 }])
    })
  })

  test('is left as it is while somebody has its oldest events locked, and shortened the next time', async () => {
    await withSession(url(), async (client) => {
      await client.query('BEGIN')
      await client.query(`SELECT FROM ${schema}.event FOR UPDATE`)
      await shortenLogs(wharf.container, { days: 0, events: 1 })
      expect(loggedIn(await archiveOf(slug))).toHaveLength(3)
      await client.query('COMMIT')
    })
    await shortenLogs(wharf.container, { days: 0, events: 1 })
    expect(loggedIn(await archiveOf(slug))).toHaveLength(1)
  })
})

test('since when a log has all events comes along with it, and goes with the next whole one', async () => {
  await createProject(wharf, 'copy', TABLE)
  const whole = await archiveOf('copy')
  const archive = await archiveOf('hosted')
  const importIt = async (body: string): Promise<void> => {
    const headers = { 'content-type': 'application/x-ndjson' }
    const answer = await wharf.root.post('/import?targetSlug=copy', { headers, body })
    expect(answer.status, answer.text).toBe(200)
  }
  await importIt(archive)
  expect(lineOf(await archiveOf('copy'), 'system')).toBe(lineOf(archive, 'system'))
  await importIt(whole)
  expect(lineOf(await archiveOf('copy'), 'system')).toBe('{"system":{}}')
})

test('a time that PostgreSQL does not take is refused, and named', async () => {
  const archive = (await archiveOf('hosted')).replace(/"eventsSince":"[^"]+"/, '"eventsSince":"0000-01-01T00:00:00Z"')
  const headers = { 'content-type': 'application/x-ndjson' }
  const refused = await wharf.root.post('/import?targetSlug=copy', { headers, body: archive })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('eventsSince')
})
