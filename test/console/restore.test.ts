import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { contentsOf, exportOf } from '../support/archives/import.ts'
import { hasChromium, openConsole } from '../support/console/console-page.ts'
import { askExport, jobOf, showJob } from '../support/jobs/jobs.ts'
import { makeSchedule, untilSettled } from '../support/jobs/schedules.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const TABLES = 'CREATE TABLE item (id int PRIMARY KEY, name text); CREATE TABLE part (id int)'

describe.skipIf(!hasChromium)('who restores in a browser', () => {
  let wharf: TestWharf
  /** Has exported `shop` and `blog`. */
  let jobId: string
  let before: readonly string[]

  const console = openConsole(() => wharf)
  const { signIn, goTo, heading, expectMessage, assertAccessible } = console
  const button = (name: string) => console.page.getByRole('button', { name, exact: true })
  const write = (id: number, project = 'shop') =>
    wharf.root.post(`/content/${project}/live/item`, { json: { id, name: 'new' } })
  const row = (name: string) =>
    console.page.getByRole('row').filter({ has: console.page.getByRole('rowheader', { name }) })

  beforeAll(async () => {
    wharf = await startWharf({ worker: true })
    await createProject(wharf, 'blog', TABLES)
    await createProject(wharf, 'shop', `${TABLES}; INSERT INTO item SELECT n, n FROM generate_series(1, 1234) n`)
    const job = jobOf(await askExport(wharf.root, [{ slug: 'blog' }, { slug: 'shop' }]))
    await vi.waitFor(
      async () => expect(await showJob(wharf.root, job.id)).toMatchObject({ status: 'succeeded' }),
      60_000,
    )
    jobId = job.id
    before = await contentsOf(wharf, 'shop')
  })
  afterAll(() => wharf.close())

  test('takes a night from the strip, sees what would change, types the name, and can undo it', async () => {
    const schedule = await makeSchedule(wharf.root, 'shop', { name: 'nightly', verify: true })
    await wharf.root.post(`/schedules/${schedule.id}/run`)
    await untilSettled(wharf, schedule, new Date(), 60_000)
    expect((await write(5_000)).status).toBe(201)
    const written = await contentsOf(wharf, 'shop')
    await signIn()
    await console.page
      .getByRole('list', { name: 'Nights of shop' })
      .getByRole('link', { name: /: proven$/ })
      .click()
    await heading('Restore shop').waitFor()
    await row('item').waitFor()
    expect(await row('item').getByRole('cell').allTextContents()).toEqual(['1,235', '1,234', '-1'])
    expect(await row('part').getByRole('cell').allTextContents()).toEqual(['0', '0', '0'])
    await assertAccessible('restore')
    expect(await button('Restore').isDisabled()).toBe(true)
    expect(await button('Restore').getAttribute('aria-describedby')).toBe(
      await console.page.getByText('Type the project’s name first.').getAttribute('id'),
    )
    await console.page.getByText('It can be undone for 24 hours.').waitFor()
    expect(await console.page.getByText('The numbers of rows are compared, not what is in them.').count()).toBe(1)
    await console.page.getByLabel('Type shop to replace what it has').fill('shop')
    await button('Restore').click()

    await console.page.getByText('succeeded').waitFor()
    await heading('restore of shop').waitFor()
    expect(await console.page.title()).toBe('Restore of shop · Wharf')
    await console.page.getByRole('link', { name: /^the archive of / }).waitFor()
    await console.page.getByText('What this restore brought is in use.').waitFor()
    await console.page
      .getByText(/What was there before it is kept until .+ at \d\d:\d\d \(.+\), (in 23 hours|tomorrow)/)
      .waitFor()
    await console.page.getByText('It got 2 tables with 1,234 rows.').waitFor()
    await console.page.getByText('Rows of each table, before the restore and now').click()
    await row('item').waitFor()
    expect(await row('item').getByRole('cell').allTextContents()).toEqual(['1,235', '1,234', '-1'])
    await assertAccessible('undo')
    expect(await contentsOf(wharf, 'shop')).toEqual(before)
    const restored = console.page.url()

    await button('Undo …').click()
    await console.page.getByRole('columnheader', { name: 'Rows afterwards' }).waitFor()
    expect(await row('item').getByRole('cell').allTextContents()).toEqual(['1,234', '1,235', '+1'])
    await assertAccessible('question of an undo')
    await button('Leave it as it is').click()
    await button('Undo …').click()
    expect(await contentsOf(wharf, 'shop')).toEqual(before)
    await button('Undo the restore').click()
    const undone = /This restore was undone .+ What was there before it is back./
    await console.page.getByText(undone).waitFor()
    expect(await contentsOf(wharf, 'shop')).toEqual(written)
    expect(await console.page.evaluate('document.activeElement?.getAttribute("role")')).toBe('status')

    // It says the same when it is opened again, and so does the list.
    await console.page.reload()
    await console.page.getByText(undone).waitFor()
    await console.page.getByText(/What the restore had brought is kept until/).waitFor()
    await assertAccessible('undone')
    await goTo('/jobs')
    const listed = console.page.getByRole('listitem').filter({ hasText: 'restore of shop' }).first()
    await listed.getByText('succeeded, undone').waitFor()
    // Of the event log, too, which has both as imports.
    await goTo('/log/shop/live')
    const [undo, restore] = [
      console.page.getByText('undo of an import'),
      console.page.getByText('import, or undo of one'),
    ]
    await undo.waitFor()
    expect([await undo.count(), await restore.count()]).toEqual([1, 1])
    await assertAccessible('event log')
    await console.page.goto(restored)
    await button('Put back what the restore brought …').click()
    await button('Put back what the restore brought').click()
    await console.page.getByText('What this restore brought is in use.').waitFor()
    expect(await contentsOf(wharf, 'shop')).toEqual(before)
  })

  test('is told where a later import was, and that what the earlier one replaced is no longer kept', async () => {
    const ask = async (): Promise<string> => {
      const { id } = jobOf(
        await wharf.root.post(`/jobs/${jobId}/import?project=blog`, { headers: { prefer: 'respond-async' } }),
      )
      await vi.waitFor(async () => expect(await showJob(wharf.root, id)).toMatchObject({ status: 'succeeded' }), 60_000)
      return id
    }
    const first = await ask()
    const second = await ask()
    await signIn()
    await goTo(`/jobs/${second}`)
    await button('Undo …').waitFor()
    await goTo(`/jobs/${first}`)
    await console.page.getByText(/Another import came after it: .+ is no longer kept\./).waitFor()
    expect(await button('Undo …').count()).toBe(0)
    await console.page.getByRole('link', { name: 'this job' }).click()
    await button('Undo …').waitFor()
    expect(console.page.url()).toContain(second)
  })

  test('finds the archive from before a loss, from the newest one, and in the list of all', async () => {
    const many = Array.from({ length: 25 }, (_, n) => `CREATE TABLE table_${n} (id int)`).join(';')
    await createProject(wharf, 'lost', `${TABLES}; ${many}; INSERT INTO item SELECT n, n FROM generate_series(1, 5) n`)
    const whole = jobOf(await askExport(wharf.root, [{ slug: 'lost' }]))
    await vi.waitFor(
      async () => expect(await showJob(wharf.root, whole.id)).toMatchObject({ status: 'succeeded' }),
      60_000,
    )
    await applyScript(wharf, 'lost', 'DELETE FROM item WHERE id > 3')
    const schedule = await makeSchedule(wharf.root, 'lost', { name: 'each night', verify: true })
    const proven = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
    await untilSettled(wharf, schedule, new Date(), 60_000)
    await signIn()

    await goTo(`/schedules/${schedule.id}`)
    await console.page.getByRole('cell', { name: '3', exact: true }).waitFor()
    await assertAccessible('runs')
    await console.page.getByRole('link', { name: /^Restore: / }).click()
    await console.page.getByText('Proven: it was restored once, and found identical.').waitFor()
    await console.page.getByText('The archive has as many rows of every table as there are now.').waitFor()
    const box = await button('Restore').boundingBox()
    expect((box?.y ?? 9_999) + (box?.height ?? 0)).toBeLessThanOrEqual(console.page.viewportSize()?.height ?? 0)
    await assertAccessible('an archive like what is there')
    await console.page.getByRole('link', { name: 'look at the archive before it' }).click()
    await console.page.getByText('Not proven: ').waitFor()
    await row('item').waitFor()
    expect(await row('item').getByRole('cell').allTextContents()).toEqual(['3', '5', '+2'])

    await console.page.getByText('Choose another archive of lost').click()
    const archives = console.page.getByRole('listitem').filter({ hasText: ' rows, ' })
    expect(await archives.allTextContents()).toEqual([
      expect.stringMatching(/ \d\d:\d\d.+[^t] ?proven3 rows, .+B$/),
      expect.stringMatching(/ \d\d:\d\d.+not proven5 rows, .+Bthis one$/),
    ])
    await archives.first().getByRole('link').click()
    await console.page.getByText('Proven: it was restored once, and found identical.').waitFor()

    await goTo(`/jobs/${proven.id}`)
    await console.page.getByRole('link', { name: 'each night' }).waitFor()
    await console.page.getByText(': restored, and found identical').waitFor()
    await console.page.locator('a.main', { hasText: 'Restore lost …' }).waitFor()
    await assertAccessible('an export')
  })

  test('gives up what was written since only where that is asked for', async () => {
    const replaced = await contentsOf(wharf, 'shop')
    const answer = await wharf.root.post(`/jobs/${jobId}/import?project=shop`, { headers: { prefer: 'respond-async' } })
    const { id } = jobOf(answer)
    await vi.waitFor(async () => expect(await showJob(wharf.root, id)).toMatchObject({ status: 'succeeded' }), 60_000)
    expect((await write(6_000)).status).toBe(201)
    await signIn()
    await goTo(`/jobs/${id}`)
    await button('Undo …').click()
    await button('Undo the restore').click()
    expectMessage('409')
    await button('Undo the restore, with what was written since').click()
    await console.page.getByText(/This restore was undone/).waitFor()
    expect(await contentsOf(wharf, 'shop')).toEqual(replaced)
  })

  test('makes a new project, with one project of an archive of several', async () => {
    await signIn()
    await goTo(`/restore/${jobId}/shop`)
    await console.page.getByLabel('Into').selectOption({ label: 'a new project …' })
    await console.page.getByLabel('Its name').fill('shop-again')
    await button('Restore').click()
    await console.page.getByText('succeeded').waitFor()
    expect(await contentsOf(wharf, 'shop-again')).toEqual(before)
    await console.page.getByRole('link', { name: 'What it has now' }).click()
    await heading('shop-again, live').waitFor()
  })

  test('is told each difference of structure, and nothing is changed', async () => {
    await createProject(
      wharf,
      'other',
      `${TABLES}; ALTER TABLE item ADD price int; INSERT INTO item VALUES (1, 'x', 2)`,
    )
    await signIn()
    await goTo(`/restore/${jobId}/shop`)
    await console.page.getByLabel('Into').selectOption('other')
    await console.page.getByRole('listitem').filter({ hasText: 'price' }).first().waitFor()
    expectMessage('409')
    expect(await button('Restore').count()).toBe(0)
    await assertAccessible('differences')
  })

  test('sees only where the token may import', async () => {
    await wharf.root.put('/projects/shop/roles/restorer', {
      json: { content: { read: true, export: true, import: true } },
    })
    await wharf.root.put('/projects/blog/roles/taker', { json: { content: { read: true, export: true } } })
    const { id, token } = await createToken(wharf, 'restorer', 'shop', {
      memberships: [
        { project: 'shop', role: 'restorer' },
        { project: 'blog', role: 'taker' },
      ],
    })
    await signIn(token)
    await goTo(`/restore/${jobId}/shop`)
    await row('item').waitFor()
    expect(await console.page.getByLabel('Into').getByRole('option').allTextContents()).toEqual(['shop'])
    expect((await wharf.root.delete(`/tokens/${id}`)).status).toBe(204)
  })

  test('sends a file, which goes on where it was after the connection was lost, and after the page was loaded again', async () => {
    await createProject(wharf, 'large', 'CREATE TABLE text (id int, text text)')
    await applyScript(wharf, 'large', "INSERT INTO text SELECT n, repeat('x', 100000) FROM generate_series(1, 130) n")
    await createProject(wharf, 'target')
    const archive = await exportOf(wharf.root, 'large', { system: false })
    const file = join(await temporaryFolder(), 'large.jsonl')
    await writeFile(file, archive)
    const offsets: number[] = []
    let failures = 0
    await console.page.route('**/uploads/*', async (route) => {
      const offset = route.request().headers()['upload-offset']
      if (offset !== undefined) offsets.push(Number(offset))
      // The second piece is lost twice, and the third for as long as this page is there.
      const isLost = (Number(offset) === 4_194_304 && failures++ < 2) || Number(offset) === 8_388_608
      await (isLost ? route.abort() : route.continue())
    })
    await signIn()
    await goTo('/import')
    await console.page.getByLabel('Drop an archive here, or choose one').setInputFiles(file)
    await console.page.getByText('The connection was lost; it is tried again.').waitFor()
    await expect.poll(() => offsets).toContain(8_388_608)
    expectMessage('ERR_FAILED')
    await console.page.unroute('**/uploads/*')
    const sent: number[] = []
    console.page.on('request', (request) => {
      const offset = request.headers()['upload-offset']
      if (offset !== undefined) sent.push(Number(offset))
    })
    await console.page.reload()
    await console.page.getByLabel('Drop an archive here, or choose one').setInputFiles(file)
    await console.page.getByText('large.jsonl has arrived.').waitFor()
    expect(sent[0]).toBeGreaterThanOrEqual(8_388_608)
    await assertAccessible('import')
    await console.page.getByLabel('Into').selectOption({ label: 'a new project …' })
    await console.page.getByLabel('Its name').fill('shop')
    await button('Restore').click()
    // The name is taken, and another one is not.
    expectMessage('409')
    await console.page.getByRole('alert').getByText('shop').waitFor()
    await console.page.getByLabel('Into').selectOption('target')
    await console.page.getByLabel('Type target to replace what it has').fill('target')
    await button('Restore').click()
    await console.page.getByText('succeeded').waitFor()
    expect(await contentsOf(wharf, 'target')).toEqual(await contentsOf(wharf, 'large'))
  })

  test('is told once what is wrong with a file, that nothing was changed, and takes another one', async () => {
    await signIn()
    await goTo('/import')
    expectMessage('400')
    const drop = console.page.getByLabel('Drop an archive here, or choose one')
    await drop.setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('no archive\n') })
    await console.page.getByText('list.txt has arrived.').waitFor()
    await console.page.getByLabel('Into').selectOption('blog')
    await console.page.getByText('It is no archive that Wharf can restore. Nothing was changed.').waitFor()
    expect(await console.page.getByText('is not JSON').count()).toBe(1)
    await button('Take another file').click()
    await drop.waitFor()
    // Beside the field, where a browser would open the file, and the page would be gone.
    const dropped = async (): Promise<number> => {
      await console.page.evaluate(`{
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['no archive'], 'other.txt'))
        const options = { dataTransfer, bubbles: true, cancelable: true }
        document.querySelector('h1').dispatchEvent(new DragEvent('dragover', options))
        document.querySelector('h1').dispatchEvent(new DragEvent('drop', options))
      }`)
      return console.page.getByText('other.txt has arrived.').count()
    }
    await expect.poll(dropped).toBe(1)
  })

  test('names a new project as projects are named before anything is made', async () => {
    await signIn()
    await goTo(`/restore/${jobId}/shop`)
    await console.page.getByLabel('Into').selectOption({ label: 'a new project …' })
    const name = console.page.getByLabel('Its name')
    expect(await name.getAttribute('placeholder')).toBe('shop-restored')
    await name.fill('Shop Restored')
    await console.page.getByText('Small letters, digits').waitFor()
    expect(await button('Restore').count()).toBe(0)
    await name.fill('shop-restored')
    await button('Restore').waitFor()
  })
})
