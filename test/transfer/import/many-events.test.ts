import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { askImport, jobOf, untilEnded } from '../../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue } from '../../support/jobs/schedules.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'
import { archiveOfEvents, type EventToWrite, eventOfSize } from './archive-of-events.ts'

const isFull = process.env.MANY_EVENTS !== undefined
/** Two hundred thousand as well, which takes a minute for each way into the project. */
const COUNTS = [0, 1, 999, 2_000, ...(isFull ? [200_000] : [])]
/** Of the ways that do the same as an import in the end. */
const COUNTS_OF_OTHERS = isFull ? COUNTS : isThorough ? [0, 2_000] : [2_000]
const PATIENCE_MS = isFull ? 600_000 : 60_000

const KIBIBYTE = 1024
/** Sizes at which some buffer on the way is full. */
const BORDERS = [64, 128, 256, 512, 1024].map((size) => size * KIBIBYTE)

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'copy')
  for (const count of COUNTS) {
    await createProject(wharf, `shop-${count}`)
    await logEvents(`shop-${count}`, count)
  }
}, PATIENCE_MS)

afterAll(() => wharf.close())

/** Logs so many events of one row each, as that many statements would. */
async function logEvents(slug: string, count: number): Promise<void> {
  await wharf.database.query(
    `WITH stage AS (
       SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = $1
     ), log AS (SELECT nextval('system.open_transaction_id_seq') AS id),
     events AS (
       INSERT INTO system.event (stage_id, transaction_id, kind, table_name, key_columns, rows, occurred_at)
       SELECT stage.id, log.id, 'create', 'item', ARRAY['id'],
              ARRAY[json_build_object('id', n, 'name', repeat('é"\\', n % 97))], now() + n * interval '1 microsecond'
       FROM stage, log, generate_series(1, $2::int) AS n ORDER BY n RETURNING id, ordinal
     )
     INSERT INTO system.transaction (stage_id, id, reference)
     SELECT stage.id, log.id, events.id FROM stage, log, events ORDER BY ordinal DESC LIMIT 1`,
    [slug, count],
  )
}

interface Log {
  readonly events: number
  /** Of everything but places and ids of ours. */
  readonly sum: string
}

/** The log of a project, in its order, without the event of the import that brought it. */
async function logOf(slug: string): Promise<Log> {
  const [log] = await wharf.database.query<Log>(
    `SELECT count(*)::int AS events,
            md5(string_agg(concat_ws('|', event.id, kind, table_name, key_columns, rows::text, occurred_at), E'\\n'
                           ORDER BY transaction.position, event.ordinal)) AS sum
     FROM system.event JOIN system.transaction
       ON transaction.stage_id = event.stage_id AND transaction.id = event.transaction_id
     WHERE kind <> 'import' AND event.stage_id IN (
       SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = $1)`,
    [slug],
  )
  if (!log) throw new Error('there is no log')
  return log
}

const eventsOfCopy = (): Promise<{ readonly id: string; readonly rows: string[] }[]> =>
  wharf.database.query(
    `SELECT event.id, rows::text[] FROM system.event JOIN system.transaction
       ON transaction.stage_id = event.stage_id AND transaction.id = event.transaction_id
     WHERE kind <> 'import' AND event.stage_id IN (
       SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = 'copy')
     ORDER BY transaction.position, event.ordinal`,
  )

/** Each way in which an event log comes into another project. */
const WAYS: Readonly<Record<string, (slug: string) => Promise<void>>> = {
  async 'an import'(slug) {
    const archive = await exportOf(wharf.root, slug, { system: true })
    const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=copy' })
    expect(answer, answer.text).toMatchObject({ status: 200 })
  },
  async 'an import job'(slug) {
    const archive = await exportOf(wharf.root, slug, { system: true })
    const job = await untilEnded(
      wharf.root,
      jobOf(await askImport(wharf.root, archive, '?targetSlug=copy')),
      PATIENCE_MS,
    )
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded' })
  },
  async 'a transfer'(slug) {
    const json = { source: { project: slug }, target: { project: 'copy' }, system: true }
    const job = await untilEnded(wharf.root, jobOf(await wharf.root.post('/transfer', { json })), PATIENCE_MS)
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded' })
  },
}

const cases = Object.keys(WAYS).flatMap((way) =>
  (way === 'an import' ? COUNTS : COUNTS_OF_OTHERS).map((count) => [way, count] as const),
)

test.each(cases)('%s brings a log of %i events as it was', { timeout: PATIENCE_MS }, async (way, count) => {
  await WAYS[way]?.(`shop-${count}`)
  expect(await logOf('copy')).toEqual(await logOf(`shop-${count}`))
})

test.each(COUNTS_OF_OTHERS)(
  'an archive with %i events is proven by restoring it',
  { timeout: PATIENCE_MS },
  async (count) => {
    const slug = `shop-${count}`
    const request = { projects: [{ slug, system: true }] }
    const schedule = await makeSchedule(wharf.root, slug, { verify: true, request })
    const { lastRun } = await runWhenDue(wharf, schedule, PATIENCE_MS)
    expect(lastRun, JSON.stringify(lastRun)).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
  },
)

async function expectRestored(events: readonly EventToWrite[]): Promise<void> {
  const answer = await sendArchive(wharf.root, archiveOfEvents(events), { query: '?targetSlug=copy' })
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(await eventsOfCopy()).toEqual(events.map(({ id, rows }) => ({ id, rows })))
}

test('an event that begins in one piece of the log and ends in the next is neither lost nor doubled', async () => {
  await expectRestored([eventOfSize(1_124), ...Array.from({ length: 1_500 }, () => eventOfSize(KIBIBYTE))])
})

test('events of every size around the borders of buffers are restored as they were', { timeout: 120_000 }, async () => {
  const nearBorder = fc
    .tuple(fc.constantFrom(...BORDERS), fc.integer({ min: -300, max: 300 }))
    .map(([border, distance]) => border + distance)
  const small = fc.integer({ min: 230, max: 4_000 })
  const sizes = fc.array(fc.oneof({ weight: 3, arbitrary: small }, nearBorder), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.integer({ min: 230, max: 1_300 }), async (some, same) => {
      const filling = Array.from({ length: Math.ceil((1200 * KIBIBYTE) / same) }, () => same)
      await expectRestored([...some, ...filling].map(eventOfSize))
    }),
    { numRuns: isFull ? 20 : isThorough ? 3 : 1, endOnFailure: true },
  )
})
