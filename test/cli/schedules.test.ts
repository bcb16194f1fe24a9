import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliOptions, type CliResult, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: 'example.org' } })
  await createProject(wharf, 'shop')
  await createProject(wharf, 'copy')
})
afterAll(() => wharf?.close())

const administer = (args: readonly string[], options?: CliOptions): Promise<CliResult> =>
  runCommand([...args, '--server', dsnOf(wharf, 'shop')], options)

/** @returns its id. */
async function create(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await administer(['schedule:create', ...args, '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout).id
}

test('a schedule is created, and said when it runs', async () => {
  const keep = ['--keep-last', '7', '--keep-days', '30', '--verify']
  const when = ['--cron', '30 2 * * *', '--timezone', 'Europe/Berlin']
  const { code, stdout } = await administer(['schedule:create', '--name', 'nightly', ...when, ...keep])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^created schedule [0-9a-f-]{36}\n {2}name +nightly\n {2}what +export of shop\n/)
  expect(stdout).toMatch(/keeps +the last 7, and those of the last 30 days\n {2}verifies +every archive\n/)
  expect(stdout).toMatch(/next runs +\S+T0[01]:30:00.000Z, \S+, \S+\n$/)
})

test('a wrong cron expression is refused in words', async () => {
  expect(await administer(['schedule:create', '--name', 'x', '--cron', '61 * * * *'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"61 * * * *" is no cron expression'),
  })
  expect(await administer(['schedule:create', '--name', 'x', '--cron', '@daily', '--keep-last', 'all'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--keep-last'),
  })
})

test('a transfer can be scheduled, and its token is shown nowhere', async () => {
  const when = ['--name', 'mirror', '--cron', '@hourly']
  const created = await administer([
    ...['schedule:create', ...when, '--from', 'wharf://shop:hidden-token@example.org', '--to', 'copy'],
  ])
  expect(created.stdout).toMatch(/what +transfer from wharf\+https:\/\/shop:\*\*\*@example.org to copy\n/)
  expect(created.stdout + created.stderr).not.toContain('hidden')
  expect(await administer(['schedule:create', ...when, '--jobs', '0'])).toMatchObject({ code: 2 })
  expect(await administer(['schedule:create', ...when, '--to', 'copy'])).toMatchObject({ code: 2 })
})

test('a schedule says whether system data is in its archives, also to programs', async () => {
  const show = async (id: string) => ({
    text: (await administer(['schedule:show', id])).stdout,
    json: JSON.parse((await administer(['schedule:show', id, '--json'])).stdout),
  })
  const whole = await show(await create('--name', 'whole', '--cron', '@daily', '--include-system'))
  expect(whole.text).toMatch(/^ {2}system data {2}included$/m)
  expect(whole.json.request.projects).toEqual([{ slug: 'shop', system: true }])
  const part = await show(await create('--name', 'part', '--cron', '@daily', '--stage', 'live'))
  expect(part.text).toMatch(/^ {2}system data {2}not included$/m)
  expect(part.json.request.projects).toEqual([{ slug: 'shop', system: false, stages: ['live'] }])
})

test('the jobs of a schedule read in as many sessions as it says, as fast as it says', async () => {
  const id = await create('--name', 'beside', '--cron', '@yearly', '--jobs', '3', '--max-rate', '20M')
  const { json } = await wharf.root.get(`/schedules/${id}`)
  expect(json).toMatchObject({ request: { projects: [{ slug: 'shop' }], jobs: 3, maxBytesPerSecond: 20_971_520 } })
  expect((await administer(['schedule:show', id])).stdout).toMatch(
    /^ {2}sessions {5}at most 3\n {2}rate {9}at most 21.0 MB\/s\n/m,
  )
})

test('schedules are listed, paused, resumed, run and deleted', async () => {
  const id = await create('--name', 'weekly', '--cron', '@weekly', '--project', 'shop', '--project', 'copy')
  const line = async (): Promise<string> =>
    (await administer(['schedule:list'])).stdout.split('\n').find((row) => row.startsWith(id)) ?? ''
  expect(await line()).toMatch(/ weekly +export of shop, copy +@weekly UTC +2\S+T00:00:00.000Z +never +-$/)

  expect((await administer(['schedule:pause', id])).stdout).toMatch(/^paused schedule .*[\s\S]* none: it is paused\n$/)
  expect(await line()).toMatch(/@weekly UTC +paused +never/)
  expect((await administer(['schedule:resume', id])).stdout).toMatch(/^resumed schedule/)

  const ran = await administer(['schedule:run', id])
  expect(ran.stdout).toMatch(/^started job [0-9a-f-]{36}\n$/)
  expect(await line()).toMatch(/ queued 2\S+ +-$/)
  expect(await administer(['schedule:run', id])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a run of this schedule is under way'),
  })

  expect((await administer(['schedule:delete', id])).code).toBe(2)
  const refused = await administer(['schedule:delete', id], { terminal: true, input: 'n\n' })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('this ends schedule "weekly"') })
  expect(await administer(['schedule:delete', id, '--yes'])).toMatchObject({
    code: 0,
    stdout: `deleted schedule ${id}\n`,
  })
  expect(await line()).toBe('')
})

test('a schedule is found by its name, unless several have it', async () => {
  const [first, second] = [
    await create('--name', 'twin', '--cron', '@daily'),
    await create('--name', 'twin', '--cron', '@daily'),
  ]
  expect(await administer(['schedule:pause', 'twin'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/2 schedules are called "twin": name one by its id \(/),
  })
  await administer(['schedule:delete', second, '--yes'])
  expect((await administer(['schedule:pause', 'twin'])).stdout).toMatch(`paused schedule ${first}`)
  expect(await administer(['schedule:show', 'nobody'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no schedule "nobody"'),
  })
})

test('what is edited of a schedule changes, and all else stays', async () => {
  await create('--name', 'edited', '--cron', '@daily', '--keep-last', '7', '--keep-days', '30', '--verify')
  const edited = await administer(['schedule:edit', 'edited', '--cron', '0 4 * * *', '--keep-last', '3', '--json'])
  expect(JSON.parse(edited.stdout)).toMatchObject({
    ...{ name: 'edited', cron: '0 4 * * *', timezone: 'UTC', verify: true },
    keep: { last: 3, days: 30 },
  })
  const again = await administer([
    'schedule:edit',
    'edited',
    '--keep-days',
    'none',
    '--no-verify',
    '--name',
    'other',
    '--json',
  ])
  expect(JSON.parse(again.stdout)).toMatchObject({ name: 'other', cron: '0 4 * * *', verify: false, keep: { last: 3 } })
  expect(JSON.parse(again.stdout).keep).toEqual({ last: 3 })
  expect(await administer(['schedule:edit', 'other'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('say what to change'),
  })
})

test('who hears of a schedule is said when it is made, and changed later', async () => {
  const watched = ['--alarm-age', '36h', '--alarm-shrink', '20', '--ping', '-', '--ping-fail']
  const made = await administer(['schedule:create', '--name', 'watched', '--cron', '@daily', ...watched], {
    input: 'https://example.com/secret-uuid\n',
  })
  expect(made.stdout).toMatch(/alarms +last archive older than 36 hours; archive smaller by 20 %\n/)
  expect(made.stdout).toMatch(/pings +https:\/\/example.com on success, failure\n/)
  expect(made.stdout + made.stderr).not.toContain('secret-uuid')
  const changed = await administer(['schedule:edit', 'watched', '--alarm-age', '2d', '--alarm-shrink', 'none'])
  expect(changed.stdout).toMatch(/alarms +last archive older than 48 hours\n/)
  expect((await administer(['schedule:edit', 'watched', '--ping', 'none'])).stdout).not.toMatch(/pings/)
  for (const wrong of [['--alarm-age', '2'], ['--alarm-shrink', '100'], ['--ping-start']]) {
    expect(await administer(['schedule:edit', 'watched', ...wrong])).toMatchObject({ code: 2 })
  }
})
