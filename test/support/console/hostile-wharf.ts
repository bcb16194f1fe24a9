import fc from 'fast-check'
import { expect } from 'vitest'
import { createExternalDatabase } from '../database/external-database.ts'
import { jobOf } from '../jobs/jobs.ts'
import { makeOverdue, makeSchedule } from '../jobs/schedules.ts'
import { makeWebhook } from '../notifications/webhooks.ts'
import { MAY_ATTACH } from '../service/attached-location.ts'
import { createProject } from '../service/projects.ts'
import { createToken } from '../service/tokens.ts'
import { startWharf, type TestWharf } from '../service/wharf.ts'
import { HOSTILE } from './console-page.ts'

const FRAGMENTS = [
  '<',
  '>',
  '"',
  "'",
  '`',
  '${',
  '}',
  '</',
  '<script>',
  '<img src=x ',
  'onerror=',
  'window.hacked=1',
  '//',
  '--',
]
const TEXTS = [
  ...FRAGMENTS,
  '&lt;',
  '&#60;',
  'javascript:',
  'data:text/html,',
  '\\',
  '\n',
  '\u202e',
  'א',
  '日本',
  '🎉',
  ' ',
]

/** Any of these, one after the other. More with HOSTILE_NAMES. */
const madeUp = fc.sample(fc.array(fc.constantFrom(...TEXTS), { minLength: 1, maxLength: 12 }), {
  numRuns: Number(process.env.HOSTILE_NAMES ?? 5),
  seed: 17,
})

/** What is taken for more than a text by one or another way of drawing it, in a name of any language and length. */
export const NAMES: readonly string[] = [
  HOSTILE,
  `javascript:window.hacked=1`,
  `{{window.hacked=1}}\${window.hacked=1}`,
  `</textarea></title></style><svg onload=window.hacked=1>`,
  `שלום עולם ‮ مرحبا بالعالم ${'ابجد '.repeat(20)}`,
  `${'W'.repeat(180)}`,
  `__proto__`,
  `constructor`,
  `\u0001\u0007\u001b[31m\u2066\u202e gpj.exe \u00ad\u200b`,
  `' OR 1=1; --`,
  ...madeUp.map((parts, index) => `${index} ${parts.join('')}`),
]

/** As long as PostgreSQL lets a name be. */
export function cut(name: string): string {
  let short = ''
  for (const character of name) {
    if (Buffer.byteLength(short + character) > 63) break
    short += character
  }
  return short
}

const quote = (name: string): string => `"${cut(name).replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** A view of the console, as it is opened. */
export interface SeenView {
  readonly name: string
  /** What stands after `#`. */
  readonly path: string
  /** What it shows once it is there. */
  readonly shows: string | RegExp
}

/** A service in which everything that has a name has a hostile one, and all views of it. */
export interface HostileWharf {
  readonly wharf: TestWharf
  readonly views: readonly SeenView[]
  close(): Promise<void>
}

/** Made of names and values alone. */
const HOSTILE_TABLES = NAMES.map((name, index) => {
  const parent = index === 0 ? '' : `, parent int REFERENCES ${quote(NAMES[index - 1] ?? '')}`
  return `CREATE TABLE ${quote(name)} (id int PRIMARY KEY, ${quote(`c ${name}`)} text${parent});
          COMMENT ON TABLE ${quote(name)} IS ${literal(name)};
          COMMENT ON COLUMN ${quote(name)}.id IS ${literal(name)};
          INSERT INTO ${quote(name)} VALUES (1, ${literal(name)});`
})

/** Columns by names that every object has, and values that are long. */
const PROTOTYPE_TABLE = `
  CREATE TABLE prototypes ("__proto__" text PRIMARY KEY, constructor jsonb, "toString" text[], "hasOwnProperty" numeric, long text);
  INSERT INTO prototypes VALUES
    ('{"hacked": 1}', '{"__proto__": {"hacked": 1}, "constructor": null}', ARRAY[${literal(HOSTILE)}, NULL], 12345678901234567890.5, repeat('long ', 20000)),
    ('second', NULL, NULL, NULL, NULL)`

/** A schema of a size that people have. */
const HUNDRED_TABLES = Array.from({ length: 100 }, (_, index) => {
  const parent = index === 0 ? '' : `, parent int REFERENCES table_${Math.floor((index - 1) / 3)}`
  return `CREATE TABLE table_${index} (id int PRIMARY KEY, name text, at timestamptz${parent});`
})

export const LONG_SLUG = `${'long-'.repeat(12)}end`

/** Nights without an archive, or whose archive is gone. */
const SAD_NIGHTS = `
  INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at, proven_at)
  SELECT $1, at, outcome, at, CASE WHEN outcome = 'succeeded' THEN at END
    FROM (VALUES (1, 'failed'), (2, 'skipped'), (3, 'succeeded'), (5, 'cancelled')) AS nights (night, outcome)
   CROSS JOIN LATERAL (SELECT now() - night * interval '1 day' AS at) AS moments`

export async function startHostileWharf(): Promise<HostileWharf> {
  const wharf = await startWharf({ worker: true, environment: { ...MAY_ATTACH, WHARF_WEBHOOK_HOSTS: '127.0.0.1' } })
  await createProject(wharf, 'shop', [...HOSTILE_TABLES, PROTOTYPE_TABLE].join('\n'))
  await createProject(wharf, 'copy', 'CREATE TABLE other (id int); INSERT INTO other VALUES (1)')
  await createProject(wharf, LONG_SLUG, HUNDRED_TABLES.join('\n'))
  const external = await attachHostileDatabase(wharf)
  const schedule = await makeSchedule(wharf.root, 'shop', { name: NAMES.join(' ').slice(0, 190), verify: true })
  const job = await untilEnded(wharf, jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`)))
  for (const name of NAMES) {
    await makeSchedule(wharf.root, 'shop', { name, enabled: false })
    await createToken(wharf, 'viewer', 'shop', { name })
    await makeWebhook(wharf.root, 'http://127.0.0.1:9/hook', { name })
  }
  const overdue = await makeSchedule(wharf.root, LONG_SLUG, { name: HOSTILE })
  await wharf.database.query(SAD_NIGHTS, [overdue.id])
  await makeOverdue(wharf, overdue, 2)
  const webhook = await makeWebhook(wharf.root, 'http://127.0.0.1:9/hook', { name: HOSTILE })
  await wharf.root.post(`/webhooks/${webhook.id}/test`)
  const failed = await failTransfer(wharf)
  return {
    wharf,
    views: viewsOf({ schedule: schedule.id, job: job.id, failed, webhook: webhook.id }),
    async close() {
      await wharf.close()
      await external.drop()
    },
  }
}

async function attachHostileDatabase(wharf: TestWharf) {
  const schema = cut(HOSTILE)
  const external = await createExternalDatabase(
    `CREATE SCHEMA ${quote(schema)}; CREATE TABLE ${quote(schema)}.${quote(schema)} ()`,
  )
  await external.run(`GRANT USAGE ON SCHEMA ${quote(schema)} TO ${external.reader.username}`)
  const attach = { address: external.reader.href, stages: [{ slug: 'live', schema }] }
  const attached = await wharf.root.post('/projects', { json: { slug: 'attached', attach } })
  expect(attached.status, attached.text).toBe(201)
  return external
}

async function untilEnded(wharf: TestWharf, { id }: { readonly id: string }) {
  for (;;) {
    const job = jobOf(await wharf.root.get(`/jobs/${id}`, { headers: { prefer: 'wait=10' } }))
    if (job.status !== 'queued' && job.status !== 'running') return job
  }
}

/** @returns the id of a job that has failed, with hostile texts in the log of its attempts. */
async function failTransfer(wharf: TestWharf): Promise<string> {
  const request = { source: { project: 'shop' }, target: { project: 'copy' } }
  const { id, status } = await untilEnded(wharf, jobOf(await wharf.root.post('/transfer', { json: request })))
  if (status !== 'failed') throw new Error(`the transfer has ${status}`)
  await wharf.database.query(
    `UPDATE control.job SET attempts = jsonb_build_array(attempts->-1 || $2::jsonb) || attempts WHERE id = $1`,
    [id, { number: 0, worker: HOSTILE, error: { code: 'DATABASE_UNAVAILABLE', detail: NAMES.join(' ') } }],
  )
  return id
}

interface Ids {
  readonly schedule: string
  readonly job: string
  readonly failed: string
  readonly webhook: string
}

/** Every view: \`views.test.ts\` sees to it that none of \`src/console/paths.ts\` is missing. */
const viewsOf = ({ schedule, job, failed, webhook }: Ids): readonly SeenView[] => [
  { name: 'overview', path: '/', shows: 'Last proven' },
  { name: 'jobs', path: '/jobs', shows: 'export of shop' },
  { name: 'job', path: `/jobs/${job}`, shows: 'succeeded' },
  { name: 'failed job', path: `/jobs/${failed}`, shows: /DATABASE_UNAVAILABLE/ },
  { name: 'restore', path: `/restore/${job}/shop`, shows: 'In the archive' },
  { name: 'schedules', path: '/schedules', shows: HOSTILE },
  { name: 'schedule', path: `/schedules/${schedule}`, shows: 'Next runs' },
  { name: 'new schedule', path: '/schedules/new', shows: 'Next runs' },
  { name: 'data', path: '/data', shows: 'shop' },
  { name: 'stage', path: '/data/shop/live', shows: 'table, 2 rows' },
  { name: 'stage of a hundred tables', path: `/data/${LONG_SLUG}/live`, shows: 'table, 0 rows' },
  { name: 'rows of prototypes', path: '/data/shop/live/prototypes', shows: '12345678901234567890.5' },
  { name: 'rows of no rows', path: `/data/${LONG_SLUG}/live/table_0`, shows: 'There are no rows' },
  ...NAMES.map((table) => ({
    name: `rows of ${table}`,
    path: `/data/shop/live/${encodeURIComponent(cut(table))}`,
    shows: 'All rows',
  })),
  { name: 'event log', path: '/log/shop/live', shows: 'shop, live' },
  { name: 'transfer', path: '/transfer', shows: 'From' },
  { name: 'import', path: '/import', shows: 'Drop an archive here' },
  { name: 'people', path: '/people', shows: HOSTILE },
  { name: 'roles', path: '/roles/shop', shows: 'read rows' },
  { name: 'notifications', path: '/notifications', shows: HOSTILE },
  { name: 'webhook', path: `/notifications/${webhook}`, shows: 'webhook.test' },
  { name: 'server', path: '/server', shows: 'data folder' },
]
