import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cronInWords, fromCron, toCron } from '../../src/console/timing.ts'
import { HOSTILE, hasChromium, openConsole } from '../support/console/console-page.ts'
import { makeSchedule, untilSettled } from '../support/jobs/schedules.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

test.each(['5 * * * *', '30 2 * * *', '30 2 * * 6', '0 14 28 * *', '*/5 * * * *', '0 0 1 1 *', '@daily', '1 2 3 * 4'])(
  'the expression %s is picked as it is written',
  (cron) => {
    expect(toCron(fromCron(cron))).toBe(cron)
  },
)

test.each([
  ['5 * * * *', 'every hour, at minute 5'],
  ['30 2 * * *', 'every day at 02:30'],
  ['15 3 * * 6', 'every Saturday at 03:15'],
  ['0 14 28 * *', 'on day 28 of the month at 14:00'],
  ['@hourly', 'every hour, at minute 0'],
  ['@daily', 'every day at 00:00'],
  ['@weekdays', 'every day from Monday to Friday at 00:00'],
  ['@weekends', 'every Saturday and Sunday at 00:00'],
  ['@weekly', 'every Sunday at 00:00'],
  ['@monthly', 'on day 1 of the month at 00:00'],
  ['@yearly', 'on 1 January at 00:00'],
  ['@annually', 'on 1 January at 00:00'],
  ['*/5 * * * *', undefined],
])('the expression %s in words: %s', (cron, words) => {
  expect(cronInWords(cron)).toBe(words)
})

describe.skipIf(!hasChromium)('who looks after schedules in a browser', () => {
  let wharf: TestWharf
  const console = openConsole(() => wharf)
  const { signIn, goTo, heading, expectMessage, assertAccessible } = console
  const button = (name: string) => console.page.getByRole('button', { name, exact: true })
  const field = (name: string) => console.page.getByLabel(name, { exact: true })

  beforeAll(async () => {
    wharf = await startWharf({ worker: true })
    await createProject(wharf, 'shop', 'CREATE TABLE item (id int); INSERT INTO item VALUES (1)')
    await createProject(wharf, 'blog')
  })
  afterAll(() => wharf.close())

  const listed = async () =>
    z
      .object({ items: z.array(z.looseObject({ id: z.string(), name: z.string() })) })
      .parse((await wharf.root.get('/schedules')).json).items
  const idOf = async (name: string): Promise<string> => (await listed()).find((each) => each.name === name)?.id ?? ''

  test('makes one by picking, sees when it runs, runs it, and finds what it proved', async () => {
    await signIn()
    await console.page.getByRole('link', { name: 'Schedules' }).click()
    await console.page.getByText('There is no schedule yet.').waitFor()
    await console.page.getByRole('link', { name: 'New schedule' }).click()
    await field('Name').fill('weekend')
    await field('Project').selectOption('shop')
    await field('How often').selectOption('every week')
    await field('On').selectOption('Saturday')
    await field('At').fill('03:15')
    await field('Time zone').fill('Europe/Berlin')
    await console.page.getByText('As a cron expression: 15 3 * * 6').waitFor()
    await expect.poll(() => console.page.getByRole('status').getByRole('listitem').allTextContents()).toHaveLength(5)
    for (const text of await console.page.getByRole('status').getByRole('listitem').allTextContents()) {
      expect(text).toMatch(/^Saturday.* at 03:15$/)
    }
    await assertAccessible('new schedule')
    await button('Save').click()
    await heading('weekend').first().waitFor()
    expect(await listed()).toMatchObject([
      { name: 'weekend', cron: '15 3 * * 6', timezone: 'Europe/Berlin', verify: true, keep: { last: 30 } },
    ])
    await button('Run now').click()
    await console.page.getByText('succeeded').waitFor()
    await goTo(`/schedules/${await idOf('weekend')}`)
    await console.page.getByRole('link', { name: /: proven$/ }).waitFor()
    await assertAccessible('schedule')
    await goTo('/')
    await console.page.getByRole('link', { name: 'Restore: shop' }).waitFor()
  })

  test('sees what differed where a proof failed', async () => {
    await wharf.database.query(`
      CREATE FUNCTION wharf.lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER lose BEFORE INSERT ON system.loading_event FOR EACH ROW EXECUTE FUNCTION wharf.lose()`)
    const request = { projects: [{ slug: 'shop', system: true }] }
    const { id } = await makeSchedule(wharf.root, 'shop', { name: 'losing', verify: true, request })
    await signIn()
    await goTo(`/schedules/${id}`)
    await button('Run now').click()
    await heading('The archive could not be proven PROOF_FAILED').waitFor()
    expect(await console.page.getByText('the events of stage').count()).toBe(1)
    await console.page.getByRole('region', { name: 'Error' }).getByRole('link', { name: 'Data' }).waitFor()
    await wharf.database.query('DROP FUNCTION wharf.lose CASCADE')
    await goTo(`/schedules/${id}`)
    const differed = console.page.getByRole('cell').getByRole('listitem')
    await differed.waitFor()
    expect(await differed.textContent()).toMatch(
      /^the events of stage "live" of project "shop" (were not restored|are not the same: .*)$/,
    )
    await assertAccessible('a failed proof')
  })

  test('is led from the server to what failed: the schedule, its job, and all jobs that did', async () => {
    await createProject(wharf, 'other', 'CREATE TABLE item (name text); INSERT INTO item VALUES (1)')
    const request = { source: { project: 'shop' }, target: { project: 'other' } }
    const schedule = await makeSchedule(wharf.root, 'shop', { name: 'misfit', kind: 'transfer', request })
    await wharf.root.post(`/schedules/${schedule.id}/run`)
    await untilSettled(wharf, schedule)
    await signIn()
    await goTo('/server')
    await console.page.getByRole('link', { name: 'misfit' }).click()
    await heading('misfit').waitFor()

    await goTo('/schedules')
    const listed = console.page.getByRole('article', { name: 'misfit' })
    await listed.getByText(/, failed: .*does not fit/).waitFor()
    await assertAccessible('a schedule that failed')
    await listed.getByRole('link', { name: 'failed' }).click()
    await heading('transfer of shop to other').waitFor()

    await goTo('/server')
    await console.page.getByText('not the jobs themselves').waitFor()
    await assertAccessible('server')
    await console.page.getByRole('link', { name: /^\d+ failed within a day$/ }).click()
    await console.page.getByRole('link', { name: 'transfer of shop to other' }).waitFor()
    expect(await field('Status').inputValue()).toBe('failed')
    const statuses = await console.page.locator('.jobs .status').allTextContents()
    expect(new Set(statuses)).toEqual(new Set(['failed']))
  })

  test('finds the list of jobs filtered as it was, once it is left and loaded again, until it is opened anew', async () => {
    await signIn()
    await goTo('/jobs?status=succeeded&kind=nonsense')
    await console.page.getByRole('link', { name: 'export of shop' }).first().waitFor()
    await field('Kind').focus()
    await field('Kind').selectOption('exports')
    await expect.poll(() => console.page.url()).toMatch(/#\/jobs\?status=succeeded&kind=export$/)
    expect(await console.page.evaluate('document.activeElement?.ariaLabel')).toBe('Kind')
    await console.page.getByRole('link', { name: 'export of shop' }).first().click()
    await heading('export of shop').waitFor()
    await console.page.goBack()
    await heading('Jobs').waitFor()
    await console.page.reload()
    await heading('Jobs').waitFor()
    expect([await field('Status').inputValue(), await field('Kind').inputValue()]).toEqual(['succeeded', 'export'])
    await console.page.getByRole('link', { name: 'Jobs', exact: true }).click()
    await expect.poll(() => field('Status').inputValue()).toBe('')
    expect(console.page.url()).toMatch(/#\/jobs$/)
  })

  test('changes, pauses and resumes one', async () => {
    const { id } = await makeSchedule(wharf.root, 'blog', { name: 'changing', cron: '0 1 * * *' })
    await signIn()
    await goTo(`/schedules/${id}`)
    await button('Change').click()
    expect(await field('At').inputValue()).toBe('01:00')
    await field('At').fill('05:45')
    await field('Archives to keep (empty: all)').fill('7')
    await button('Save').click()
    await console.page.getByText('every day at 05:45, UTC 45 5 * * *').waitFor()
    await button('Pause').click()
    await button('Resume').waitFor()
    expect((await wharf.root.get(`/schedules/${id}`)).json).toMatchObject({
      ...{ cron: '45 5 * * *', keep: { last: 7 }, enabled: false },
    })
    await button('Resume').click()
    await button('Pause').waitFor()
  })

  test('is told that a schedule is overdue, and what it made last', async () => {
    const { id } = await makeSchedule(wharf.root, 'blog', { name: 'late' })
    const overdue = await makeSchedule(wharf.root, 'blog', { name: 'too late', verify: true })
    await signIn()
    await goTo(`/schedules/${id}`)
    await console.page.getByText('every day at 00:00, UTC @daily').waitFor()
    await console.page.getByText('no alarm, however long there is no new archive').waitFor()
    expect(await console.page.getByText('Overdue for').count()).toBe(0)

    await wharf.database.query(
      `INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at)
       VALUES ($1, now() - interval '4 days', 'succeeded', now() - interval '3 days 1 hour')`,
      [id],
    )
    // As old as the schedules say it may not be: a sweep would take back what it does not find so.
    await wharf.database.query(
      `UPDATE control.schedule SET overdue_since = now() - interval '2 days', max_age_hours = 24, created_at = now() - interval '5 days'
        WHERE id IN ($1, $2)`,
      [id, overdue.id],
    )
    await console.page
      .getByText('Overdue for 2 days: it made its last archive 3 days ago, which is no longer kept.')
      .waitFor()
    await console.page.getByText('after 24 hours without a new archive').waitFor()
    await goTo('/schedules')
    const listed = console.page.getByRole('article', { name: 'too late' })
    await listed.getByText('Overdue for 2 days: it made no proven archive.').waitFor()
    await wharf.root.delete(`/schedules/${id}`)
    await wharf.root.delete(`/schedules/${overdue.id}`)
  })

  test('is told what is wrong with an expression that is typed, and nothing is saved', async () => {
    await signIn()
    await goTo('/schedules/new')
    expectMessage('400')
    await field('Project').selectOption('blog')
    await field('How often').selectOption('as a cron expression says')
    await field('Cron expression').fill('99 * * * *')
    await console.page.getByRole('status').getByText('the minute "99"').waitFor()
    await button('Save').click()
    await console.page.getByRole('alert').getByText('the minute "99"').waitFor()
    expect(await idOf('nightly')).toBe('')
  })

  test('backs up all projects, new ones too', async () => {
    await signIn()
    await goTo('/schedules/new')
    await field('Name').fill(HOSTILE)
    await field('Project').selectOption('all that this token may export, new ones too')
    await button('Save').click()
    await console.page.getByText('export of all projects, proven by a restore').waitFor()
    await goTo('/schedules')
    await heading(HOSTILE).waitFor()
  })

  test('makes one of transfers, and deletes it', async () => {
    await signIn()
    await goTo('/schedules/new')
    await field('Name').fill('copying')
    await field('What it does').selectOption('transfer: replaces a project by a copy of another')
    expect(await button('Save').isDisabled()).toBe(true)
    await console.page.getByText('Choose both projects first.').waitFor()
    await field('From').selectOption('shop')
    await field('To: each run replaces what it has').selectOption('blog')
    await assertAccessible('a new schedule of transfers')
    await button('Save').click()
    await heading('copying').waitFor()
    await console.page.getByText('transfer of shop to blog').waitFor()
    const path = `/schedules/${await idOf('copying')}`
    expect((await wharf.root.get(path)).json).toMatchObject({ kind: 'transfer', keep: {}, verify: false })
    await button('Delete').click()
    await console.page.getByText('Its archives stay').waitFor()
    await button('Delete for good').click()
    await heading('Schedules').waitFor()
    expect((await wharf.root.get(path)).status).toBe(404)
  })

  test('sees what the token may see, and is told what it may not do', async () => {
    await wharf.root.put('/projects/shop/roles/exporter', { json: { content: { read: true, export: true } } })
    const { token } = await createToken(wharf, 'exporter', 'shop')
    const { id } = await makeSchedule(wharf.root, 'shop', { name: 'of root' })
    await signIn(token)
    await console.page.getByRole('link', { name: 'Schedules' }).click()
    await heading('of root').waitFor()
    expect(await heading('changing').count()).toBe(0)
    await goTo(`/schedules/${id}`)
    expectMessage('403')
    await button('Pause').click()
    await expect
      .poll(() => console.page.getByRole('alert').allTextContents())
      .toContainEqual(expect.stringMatching(/token/))
  })
})
