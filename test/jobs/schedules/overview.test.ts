import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { projectOverviewSchema } from '../../../src/contract/overview.ts'
import { type NightRun, toNights } from '../../../src/jobs/schedules/nights.ts'
import type { ApiClient } from '../../support/http/api-client.ts'
import { makeOverdue, makeSchedule, runWhenDue, type SeenSchedule } from '../../support/jobs/schedules.ts'
import { createProject } from '../../support/service/projects.ts'
import { createToken } from '../../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const page = z.object({ items: z.array(projectOverviewSchema), next: z.string().nullable() })

describe('nights', () => {
  const run = (dueAt: string, fields: Partial<NightRun> = {}): NightRun => ({
    ...{ dueAt: new Date(dueAt), status: 'succeeded', isProven: false, jobId: null, hasArchive: true },
    ...fields,
  })
  const now = new Date('2026-11-25T12:00:00Z')
  const outcomes = (runs: readonly NightRun[], timezone = 'UTC') =>
    toNights(
      runs.map((each) => ({ run: each, timezone })),
      { now, timezone },
    )
      .filter(({ outcome }) => outcome !== 'none')
      .map(({ date, outcome }) => `${date} ${outcome}`)

  test('are thirty, until today', () => {
    const nights = toNights([], { now, timezone: 'UTC' })
    expect(nights).toHaveLength(30)
    expect([nights[0]?.date, nights[29]?.date]).toEqual(['2026-10-27', '2026-11-25'])
  })

  test('show the best that they left, and tell what went wrong where nothing else was', () => {
    const failed = run('2026-11-24T03:00:00Z', { status: 'failed' })
    expect(outcomes([failed])).toEqual(['2026-11-24 failed'])
    expect(outcomes([run('2026-11-24T02:00:00Z'), failed])).toEqual(['2026-11-24 made'])
    expect(outcomes([failed, run('2026-11-24T04:00:00Z', { isProven: true }), run('2026-11-24T05:00:00Z')])).toEqual([
      '2026-11-24 proven',
    ])
    expect(outcomes([run('2026-11-24T03:00:00Z', { status: 'removed' })])).toEqual([])
  })

  test('are those of the time zone of the schedule, also when the clocks change', () => {
    // Half past one in Berlin, of which UTC has two on one day and none on another.
    const runs = ['2026-10-24T23:30:00Z', '2026-10-26T00:30:00Z'].map((dueAt) => run(dueAt))
    expect(
      toNights(
        runs.map((each) => ({ run: each, timezone: 'Europe/Berlin' })),
        { now: new Date('2026-10-27T12:00:00Z'), timezone: 'Europe/Berlin' },
      )
        .filter(({ outcome }) => outcome === 'made')
        .map(({ date }) => date),
    ).toEqual(['2026-10-25', '2026-10-26'])
  })
})

describe('the overview', () => {
  let wharf: TestWharf
  let nightly: SeenSchedule

  const read = async (client: ApiClient = wharf.root, query = '') => {
    const answer = await client.get(`/overview${query}`)
    expect(answer.status, answer.text).toBe(200)
    return page.parse(answer.json)
  }
  const of = async (slug: string, client?: ApiClient) => {
    const found = (await read(client)).items.find((each) => each.slug === slug)
    if (!found) throw new Error(`${slug} is missing`)
    return found
  }

  beforeAll(async () => {
    wharf = await startWharf({ worker: true })
    await createProject(wharf, 'shop', 'CREATE TABLE t AS SELECT n FROM generate_series(1, 1000) n')
    await createProject(wharf, 'shop-2')
    await createProject(wharf, 'blog')
    nightly = await makeSchedule(wharf.root, 'shop', {
      name: 'shops',
      verify: true,
      request: { projects: [], patterns: [{ pattern: 'shop*' }] },
    })
  })
  afterAll(() => wharf.close())

  test('has size and last change of each stage', async () => {
    const before = await of('shop')
    expect(before.stages).toMatchObject([
      { slug: 'live', sizeBytes: expect.any(Number), changedAt: expect.any(String) },
    ])
    expect(before.stages[0]?.sizeBytes).toBeGreaterThan(20_000)
    expect((await wharf.root.post('/content/shop/live/t', { json: { n: 0 } })).status).toBe(201)
    const [stage] = (await of('shop')).stages
    expect(Date.parse(stage?.changedAt ?? '')).toBeGreaterThan(Date.parse(before.stages[0]?.changedAt ?? ''))
  })

  test('leaves out the size where a table is locked, and does not wait', async () => {
    await wharf.database.query('BEGIN')
    const [stage] = await wharf.database.query<{ name: string }>(
      `SELECT schema_name AS name FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = 'shop'`,
    )
    try {
      await wharf.database.query(`LOCK TABLE "${stage?.name}".t`)
      expect((await of('shop')).stages).toMatchObject([{ sizeBytes: null }])
    } finally {
      await wharf.database.query('ROLLBACK')
    }
  })

  test('says of each project which schedules export it, and what the last nights left', async () => {
    await runWhenDue(wharf, nightly, 60_000)
    const shop = await of('shop')
    expect(shop.schedules).toMatchObject([{ name: 'shops', enabled: true }])
    expect(shop.lastProven?.provenAt).toEqual(expect.any(String))
    expect(shop.lastArchive).toEqual(shop.lastProven)
    const seen = shop.nights.filter(({ outcome }) => outcome !== 'none')
    // By a clock that is ahead, the run was due tomorrow at most.
    expect(seen.length).toBeLessThanOrEqual(1)
    expect(await of('blog')).toMatchObject({ schedules: [], lastArchive: null, lastProven: null, overdueSince: null })
  })

  test('shows runs of other days, and what became of their archives', async () => {
    const job = (await of('shop')).lastProven?.jobId
    await wharf.database.query(
      `UPDATE control.schedule_run SET due_at = now() - interval '1 day' WHERE job_id = '${job}'`,
    )
    await wharf.database.query(
      `INSERT INTO control.schedule_run (schedule_id, due_at, outcome) VALUES
         ('${nightly.id}', now() - interval '2 days', 'skipped'), ('${nightly.id}', now() - interval '3 days', 'failed')`,
    )
    for (const slug of ['shop', 'shop-2']) {
      const nights = (await of(slug)).nights.slice(-4)
      expect(nights).toMatchObject([
        { outcome: 'failed', jobId: null, hasArchive: false },
        { outcome: 'skipped' },
        { outcome: 'proven', jobId: job, hasArchive: true },
        { outcome: 'none', dueAt: null },
      ])
    }
    // A project that came later was in none of these archives.
    await createProject(wharf, 'shop-3')
    expect((await of('shop-3')).nights.map(({ outcome }) => outcome)).not.toContain('proven')
    expect((await of('shop-3')).schedules).toHaveLength(1)
  })

  test('says since when a schedule is overdue', async () => {
    await makeOverdue(wharf, nightly)
    expect((await of('shop')).overdueSince).toEqual(expect.any(String))
    expect((await of('blog')).overdueSince).toBeNull()
  })

  test('lists those that are overdue, page by page, to who may know that', async () => {
    const slugs = ({ items }: z.infer<typeof page>) => items.map(({ slug }) => slug)
    expect(slugs(await read(wharf.root, '?overdue=true'))).toEqual(['shop', 'shop-2', 'shop-3'])
    const first = await read(wharf.root, '?overdue=true&limit=2')
    expect(slugs(first)).toEqual(['shop', 'shop-2'])
    expect(slugs(await read(wharf.root, `?overdue=true&after=${first.next}`))).toEqual(['shop-3'])
    expect(slugs(await read(wharf.root, '?overdue=true&search=-2'))).toEqual(['shop-2'])
    const viewer = await createToken(wharf, 'viewer', 'shop')
    expect(slugs(await read(viewer.client, '?overdue=true'))).toEqual([])
    expect((await wharf.root.get('/overview?overdue=yes')).status).toBe(400)
  })

  test('shows a token its own projects, and archives that it might have asked for', async () => {
    const viewer = await createToken(wharf, 'viewer', 'shop')
    expect((await read(viewer.client)).items).toMatchObject([
      { slug: 'shop', schedules: [], lastArchive: null, lastProven: null },
    ])
  })

  test('is searched, and read page by page', async () => {
    expect((await read(wharf.root, '?search=shop')).items.map(({ slug }) => slug)).toEqual(['shop', 'shop-2', 'shop-3'])
    expect((await read(wharf.root, '?search=SHOP-')).items.map(({ slug }) => slug)).toEqual(['shop-2', 'shop-3'])
    for (const sign of ['_', '%', '\\']) {
      expect((await read(wharf.root, `?search=${encodeURIComponent(sign)}`)).items, sign).toEqual([])
    }
    const first = await read(wharf.root, '?limit=1')
    expect(first.items).toMatchObject([{ slug: 'blog' }])
    expect((await read(wharf.root, `?limit=1&after=${first.next}`)).items).toMatchObject([{ slug: 'shop' }])
  })
})
