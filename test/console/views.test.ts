import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { HOSTILE, hasChromium, openConsole } from '../support/console/console-page.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import { jobOf, showJob } from '../support/jobs/jobs.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { makeWebhook } from '../support/notifications/webhooks.ts'
import { MAY_ATTACH } from '../support/service/attached-location.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

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
const NAMES = [
  HOSTILE,
  `javascript:window.hacked=1`,
  `{{window.hacked=1}}\${window.hacked=1}`,
  `</textarea></title></style><svg onload=window.hacked=1>`,
  `שלום עולם ‮ مرحبا بالعالم ${'ابجد '.repeat(20)}`,
  `${'W'.repeat(180)}`,
  `__proto__`,
  `' OR 1=1; --`,
  ...madeUp.map((parts, index) => `${index} ${parts.join('')}`),
]

/** As long as PostgreSQL lets a name be. */
function cut(name: string): string {
  let short = ''
  for (const character of name) {
    if (Buffer.byteLength(short + character) > 63) break
    short += character
  }
  return short
}

const quote = (name: string): string => `"${cut(name).replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

describe.skipIf(!hasChromium)('every view', () => {
  let wharf: TestWharf
  let external: ExternalDatabase
  const console = openConsole(() => wharf)
  const { signIn, goTo, heading, assertAccessible, expectMessage } = console
  const views = new Map<string, { readonly path: string; readonly shows: string | RegExp }>()

  beforeAll(async () => {
    wharf = await startWharf({ worker: true, environment: { ...MAY_ATTACH, WHARF_WEBHOOK_HOSTS: '127.0.0.1' } })
    const tables = NAMES.map((name, index) => {
      const parent = index === 0 ? '' : `, parent int REFERENCES ${quote(NAMES[index - 1] ?? '')}`
      return `CREATE TABLE ${quote(name)} (id int PRIMARY KEY, ${quote(`c ${name}`)} text${parent});
              COMMENT ON TABLE ${quote(name)} IS ${literal(name)};
              COMMENT ON COLUMN ${quote(name)}.id IS ${literal(name)};
              INSERT INTO ${quote(name)} VALUES (1, ${literal(name)});`
    })
    await createProject(wharf, 'shop', tables.join('\n'))
    await createProject(wharf, 'copy', 'CREATE TABLE other (id int); INSERT INTO other VALUES (1)')
    const schema = cut(HOSTILE)
    external = await createExternalDatabase(
      `CREATE SCHEMA ${quote(schema)}; CREATE TABLE ${quote(schema)}.${quote(schema)} ()`,
    )
    await external.run(`GRANT USAGE ON SCHEMA ${quote(schema)} TO ${external.reader.username}`)
    const attach = { address: external.reader.href, stages: [{ slug: 'live', schema }] }
    const attached = await wharf.root.post('/projects', { json: { slug: 'attached', attach } })
    expect(attached.status, attached.text).toBe(201)
    const schedule = await makeSchedule(wharf.root, 'shop', { name: NAMES.join(' ').slice(0, 190), verify: true })
    for (const name of NAMES) {
      await makeSchedule(wharf.root, 'shop', { name, enabled: false })
      await createToken(wharf, 'viewer', 'shop', { name })
      await makeWebhook(wharf.root, 'http://127.0.0.1:9/hook', { name })
    }
    const webhook = await makeWebhook(wharf.root, 'http://127.0.0.1:9/hook', { name: HOSTILE })
    await wharf.root.post(`/webhooks/${webhook.id}/test`)
    await wharf.root.post(`/schedules/${schedule.id}/run`)
    const { jobId } = z.looseObject({ jobId: z.string() }).parse(await lastRun(schedule.id))
    const failed = jobOf(
      await wharf.root.post('/transfer', { json: { source: { project: 'shop' }, target: { project: 'copy' } } }),
    )
    for (let { status } = failed; status !== 'failed'; ) {
      status = jobOf(await wharf.root.get(`/jobs/${failed.id}`, { headers: { prefer: 'wait=10' } })).status
    }
    await wharf.database.query(
      `UPDATE control.job SET attempts = jsonb_build_array(attempts->-1 || $2::jsonb) || attempts WHERE id = $1`,
      [failed.id, { number: 0, worker: HOSTILE, error: { code: 'DATABASE_UNAVAILABLE', detail: NAMES.join(' ') } }],
    )
    for (const [name, path, shows] of [
      ['overview', '/', 'Last proven'],
      ['jobs', '/jobs', 'export of shop'],
      ['job', `/jobs/${jobId}`, 'succeeded'],
      ['failed job', `/jobs/${failed.id}`, /DATABASE_UNAVAILABLE/],
      ['restore', `/restore/${jobId}/shop`, 'In the archive'],
      ['schedules', '/schedules', HOSTILE],
      ['schedule', `/schedules/${schedule.id}`, 'Next runs'],
      ['new schedule', '/schedules/new', 'Next runs'],
      ['data', '/data', 'shop'],
      ['stage', '/data/shop/live', 'Event log'],
      ...NAMES.map((table) => {
        return [`rows of ${table}`, `/data/shop/live/${encodeURIComponent(cut(table))}`, 'All rows'] as const
      }),
      ['event log', '/log/shop/live', 'shop, live'],
      ['transfer', '/transfer', 'From'],
      ['import', '/import', 'Drop an archive here'],
      ['people', '/people', HOSTILE],
      ['roles', '/roles/shop', 'read rows'],
      ['notifications', '/notifications', HOSTILE],
      ['webhook', `/notifications/${webhook.id}`, 'webhook.test'],
      ['server', '/server', 'data folder'],
    ] as const) {
      views.set(name, { path, shows })
    }
  })
  afterAll(async () => {
    await wharf.close()
    await external.drop()
  })

  /** The job of the schedule's last run, once there is one. */
  async function lastRun(id: string): Promise<unknown> {
    return z.looseObject({ lastRun: z.unknown() }).parse((await wharf.root.get(`/schedules/${id}`)).json).lastRun
  }

  const open = async (name: string): Promise<void> => {
    const view = views.get(name)
    if (!view) throw new Error(`there is no view ${name}`)
    await goTo(view.path)
    await console.page.getByRole('main').getByText(view.shows).first().waitFor()
  }

  test('shows hostile names, values and errors as texts, and runs nothing of them', async () => {
    const schedules = z.object({ items: z.array(z.looseObject({ id: z.string(), verify: z.boolean() })) })
    const { items } = schedules.parse((await wharf.root.get('/schedules')).json)
    const verified = items.find(({ verify }) => verify)
    if (!verified) throw new Error('the schedule is missing')
    await eventually(async () => z.looseObject({ status: z.string() }).parse(await lastRun(verified.id)).status).toBe(
      'succeeded',
    )
    const jobs = z.object({ items: z.array(z.looseObject({ id: z.string(), kind: z.string() })) })
    for (const { id, kind } of jobs.parse((await wharf.root.get('/jobs')).json).items) {
      if (kind === 'transfer') await eventually(async () => (await showJob(wharf.root, id)).status).toBe('failed')
    }
    await signIn()
    for (const name of views.keys()) {
      await open(name)
      expect(await console.page.evaluate('window.hacked'), name).toBeUndefined()
      expect(await console.page.locator('main script, main img, main iframe').count(), name).toBe(0)
      const width = await console.page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(width, `${name} is no wider than the page`).toBeLessThanOrEqual(0)
    }
    await open('server')
    await console.page.getByRole('button', { name: 'attached' }).click()
    const facts = console.page.getByRole('region', { name: 'Database of attached' })
    await facts.getByText(cut(HOSTILE), { exact: true }).waitFor()
    await facts.locator('code').first().waitFor()
    expect(await facts.locator('script, img').count()).toBe(0)
    for (const [name, label, none] of [
      ['overview', 'Search projects', 'No project has this in its name.'],
      ['jobs', 'Of project', 'No job is like that.'],
    ] as const) {
      await open(name)
      await console.page.keyboard.press('/')
      await console.page.keyboard.type(HOSTILE)
      expect(await console.page.getByLabel(label).inputValue()).toBe(HOSTILE)
      await console.page.getByText(none).waitFor()
    }
  })

  test('is no wider than a phone', async () => {
    await console.page.setViewportSize({ width: 400, height: 800 })
    await signIn()
    for (const name of views.keys()) {
      await open(name)
      const width = await console.page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(width, name).toBeLessThanOrEqual(0)
    }
  })

  test.each(['light', 'dark'] as const)('has nothing that axe finds, where it is %s', async (colorScheme) => {
    await console.page.emulateMedia({ colorScheme })
    await signIn()
    for (const name of views.keys()) {
      if (name.startsWith('rows of') && !name.endsWith('__proto__')) continue
      await open(name)
      await assertAccessible(name)
    }
  })

  test('is reached by the keyboard alone', async () => {
    await signIn()
    await heading('shop').waitFor()
    for (const [key, title] of [
      ['j', 'Jobs'],
      ['s', 'Schedules'],
      ['d', 'Data'],
      ['t', 'Transfer'],
      ['i', 'Import a file'],
      ['p', 'People and rights'],
      ['n', 'Notifications'],
      ['v', 'Server'],
      ['o', 'Overview'],
    ] as const) {
      await console.page.keyboard.press('g')
      await console.page.keyboard.press(key)
      await heading(title).waitFor()
    }
  })

  test('says how long ago something was, also while it is looked at', async () => {
    await console.page.clock.install()
    await signIn()
    await open('failed job')
    await console.page.clock.fastForward('03:00:00')
    await console.page.getByText('3 hours ago').first().waitFor()
  })

  test('of a file with a hostile name says why it is no archive', async () => {
    await signIn()
    await goTo('/import')
    const buffer = Buffer.from('no archive')
    expectMessage('400')
    await console.page
      .getByLabel('Drop an archive here, or choose one')
      .setInputFiles({ name: `${HOSTILE}.jsonl`.replaceAll('/', '∕'), mimeType: 'text/plain', buffer })
    await console.page.getByText('has arrived').waitFor()
    await console.page.getByLabel('Into').selectOption('copy')
    await console.page.getByRole('alert').filter({ hasText: /./ }).first().waitFor()
    expect(await console.page.evaluate('window.hacked')).toBeUndefined()
  })

  test('of the event log shows what is written, as it is written', async () => {
    await signIn()
    await open('event log')
    const table = cut(HOSTILE)
    const path = `/content/shop/live/${encodeURIComponent(table)}`
    expect((await wharf.root.post(path, { json: { id: 7 } })).status).toBe(201)
    const newest = console.page.getByRole('listitem').first()
    await expect.poll(() => newest.textContent()).toContain('id: 7')
    await newest.locator('strong').click()
    await newest.getByText('id: 7').waitFor()
  })

  test('of roles changes what they may do, and of webhooks sends again', async () => {
    await signIn()
    await open('roles')
    await console.page.getByLabel('Name', { exact: true }).fill('exporter')
    await console.page.getByRole('button', { name: 'Make the role' }).click()
    await console.page.getByLabel('exporter: export rows').check()
    await console.page.getByRole('button', { name: 'Save: exporter' }).click()
    await eventually(async () => (await wharf.root.get('/projects/shop/roles')).json).toMatchObject({
      items: expect.arrayContaining([
        {
          name: 'exporter',
          content: expect.objectContaining({ export: true, read: false }),
          system: expect.anything(),
        },
      ]),
    })
    await open('webhook')
    const tries = console.page.getByRole('row', { name: /webhook\.test/ })
    await tries.first().waitFor()
    await console.page.getByRole('button', { name: 'Turn off' }).click()
    await console.page.getByRole('button', { name: 'Turn on' }).waitFor()
  })

  test('is only in the navigation of who may see it', async () => {
    const { token } = await createToken(wharf, 'viewer', 'shop')
    await signIn(token)
    await heading('shop').waitFor()
    expect(await console.page.getByRole('link', { name: 'Server' }).count()).toBe(0)
    expect(await console.page.getByRole('link', { name: 'People' }).count()).toBe(1)
  })
})
