import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { findPath, PATHS, type PathName } from '../../src/console/paths.ts'
import { HOSTILE, hasChromium, openConsole } from '../support/console/console-page.ts'
import {
  cut,
  type HostileWharf,
  LONG_SLUG,
  type SeenView,
  startHostileWharf,
} from '../support/console/hostile-wharf.ts'
import { eventually } from '../support/eventually.ts'
import { makeWebhook } from '../support/notifications/webhooks.ts'
import { createToken } from '../support/service/tokens.ts'

/** Of views that look alike, those that axe looks at, which takes it a second. */
const SEEN_BY_AXE: ReadonlySet<string> = new Set(['rows of __proto__', 'rows of no rows'])

/** Views that are of no project, and of nothing that only the root token may see. */
const OF_EVERYBODY: ReadonlySet<PathName> = new Set([
  'overview',
  'jobs',
  'schedules',
  'newSchedule',
  'data',
  'transfer',
  'import',
  'people',
])

/** A folder, for screenshots. */
const { SCREENSHOTS } = process.env

describe.skipIf(!hasChromium)('every view', () => {
  let hostile: HostileWharf
  const console = openConsole(() => hostile.wharf)
  const { signIn, goTo, heading, assertAccessible, expectMessage } = console

  beforeAll(async () => {
    hostile = await startHostileWharf()
  })
  afterAll(() => hostile.close())

  const open = async ({ path, shows }: SeenView): Promise<void> => {
    await goTo(path)
    await console.page.getByRole('main').getByText(shows).first().waitFor()
  }
  const openNamed = async (name: string): Promise<void> => {
    const view = hostile.views.find((each) => each.name === name)
    if (!view) throw new Error(`there is no view ${name}`)
    await open(view)
  }

  test('is looked at here', () => {
    const seen = new Set(hostile.views.map(({ path }) => findPath(path).name))
    expect([...seen].toSorted()).toEqual(['overview', ...Object.keys(PATHS)].toSorted())
  })

  test('shows hostile names, values and errors as texts, and runs nothing of them', async () => {
    await signIn()
    for (const view of hostile.views) {
      const { name } = view
      await open(view)
      expect(await console.page.evaluate('window.hacked'), name).toBeUndefined()
      expect(await console.page.locator('main script, main img, main iframe').count(), name).toBe(0)
      const width = await console.page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(width, `${name} is no wider than the page`).toBeLessThanOrEqual(0)
      // Values are shown as they are, in elements of their own; names stand in sentences, which they are not to turn around.
      if (/^(rows of|event log)/.test(name)) continue
      expect(await console.page.locator('main').textContent(), name).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
    }
    await openNamed('server')
    await console.page.getByRole('button', { name: 'attached' }).click()
    const facts = console.page.getByRole('region', { name: 'Database of attached' })
    await facts.getByText(cut(HOSTILE), { exact: true }).waitFor()
    await facts.locator('code').first().waitFor()
    expect(await facts.locator('script, img').count()).toBe(0)
    for (const [name, label, none] of [
      ['overview', 'Search projects', 'No project has this in its name.'],
      ['jobs', 'Of project', 'No job is like that.'],
    ] as const) {
      await openNamed(name)
      await console.page.keyboard.press('/')
      await console.page.keyboard.type(HOSTILE)
      expect(await console.page.getByLabel(label).inputValue()).toBe(HOSTILE)
      await console.page.getByText(none).waitFor()
    }
  })

  test('is no wider than a phone', async () => {
    await console.page.setViewportSize({ width: 400, height: 800 })
    await signIn()
    for (const view of hostile.views) {
      const { name } = view
      await open(view)
      const width = await console.page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect(width, name).toBeLessThanOrEqual(0)
      const facts = await console.page.evaluate('[...document.querySelectorAll("dd")].map((dd) => dd.clientWidth)')
      for (const factWidth of z.array(z.number()).parse(facts)) expect(factWidth, name).toBeGreaterThan(80)
      const hidden = await console.page.evaluate(
        '[...document.querySelectorAll(".scrolls:has(.stacks)")].filter((e) => e.scrollWidth > e.clientWidth).length',
      )
      expect(hidden, `${name} hides no value beside the page`).toBe(0)
    }
  })

  test('is no wider than the page from right to left, and hides nothing beside it', async () => {
    await signIn()
    for (const width of [1280, 400]) {
      await console.page.setViewportSize({ width, height: 800 })
      for (const view of hostile.views) {
        if (view.name.includes(' of ') && !SEEN_BY_AXE.has(view.name)) continue
        await open(view)
        await console.page.evaluate('document.documentElement.dir = "rtl"')
        const beside = await console.page.evaluate('document.documentElement.scrollWidth - innerWidth')
        expect(beside, `${view.name} at ${width} px`).toBeLessThanOrEqual(0)
        const cut = await console.page.evaluate(
          '[...document.querySelectorAll("main *")].filter((e) => e.getClientRects().length > 0 && !e.closest(".scrolls, .spoken, svg") && e.getBoundingClientRect().left < -1).map((e) => e.outerHTML.slice(0, 200))',
        )
        expect(cut, `${view.name} at ${width} px`).toEqual([])
      }
    }
  })

  test('moves nothing where the system asks for less motion', async () => {
    await console.page.emulateMedia({ reducedMotion: 'reduce' })
    await signIn()
    for (const view of hostile.views) {
      if (view.name.includes(' of ')) continue
      await open(view)
      const moving = await console.page.evaluate(
        '[...document.querySelectorAll("*")].map((e) => getComputedStyle(e)).filter((s) => s.animationName !== "none" || s.transitionDuration.split(", ").some((each) => each !== "0s")).length',
      )
      expect(moving, view.name).toBe(0)
    }
  })

  test.each(['light', 'dark'] as const)('has nothing that axe finds, where it is %s', async (colorScheme) => {
    await console.page.emulateMedia({ colorScheme })
    await signIn()
    for (const view of hostile.views) {
      const { name } = view
      // Rows look alike, whatever their table is called, and so do tables, however many there are.
      if (view.name.includes(' of ') && !SEEN_BY_AXE.has(view.name)) continue
      await open(view)
      await assertAccessible(name)
    }
  })

  test('draws no night as proven whose archive is gone', async () => {
    await signIn()
    const nights = console.page.getByRole('list', { name: `Nights of ${LONG_SLUG}` })
    const gone = nights.getByRole('listitem').filter({ hasText: 'proven, no longer kept' })
    await gone.waitFor()
    await console.page.getByText('no archive is kept, so nothing can be restored').waitFor()
    expect(await gone.getByRole('link').count()).toBe(0)
    const colour = await console.page.evaluate(
      `getComputedStyle(document.querySelector('.nights .mark.gone')).backgroundColor`,
    )
    expect(colour).toBe('rgba(0, 0, 0, 0)')
  })

  test('tells nights apart by the shapes of their marks, where all have one colour', async () => {
    await console.page.emulateMedia({ forcedColors: 'active' })
    await signIn()
    const first = console.page.locator('.legend .mark').first()
    await first.waitFor()
    const marks = z
      .array(z.string())
      .parse(
        await console.page.evaluate(`[...document.querySelectorAll('.legend .mark')].map((mark) => mark.className)`),
      )
    const pictures = new Map<string, string>()
    for (const mark of marks) {
      // All in one place, so that nothing but their shapes can differ.
      await console.page.evaluate(`document.querySelector('.legend .mark').className = '${mark}'`)
      const picture = (await first.screenshot()).toString('base64')
      expect(pictures.get(picture), `${mark} looks like`).toBeUndefined()
      pictures.set(picture, mark)
    }
    expect(marks).toHaveLength(9)
  })

  test('of many tables folds them, with their rows within reach, until a search leaves few', async () => {
    await signIn()
    await openNamed('stage of a hundred tables')
    expect(await console.page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(3_000)
    const table = console.page.getByRole('region', { name: 'table_7', exact: true })
    const column = table.getByText('timestamp with time zone')
    expect(await column.isVisible()).toBe(false)
    await table.locator('summary').press('Enter')
    await column.waitFor()
    await table.locator('summary').press('Enter')
    await column.waitFor({ state: 'hidden' })
    await console.page.keyboard.press('Tab')
    expect(await console.page.evaluate('document.activeElement.ariaLabel')).toBe('Rows of table_7')
    await console.page.getByLabel('Search tables').fill('table_7')
    await column.waitFor()
    await table.getByRole('link', { name: 'table_7', exact: true }).click()
    await console.page.getByText('There are no rows').waitFor()
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
    await openNamed('failed job')
    await console.page.clock.fastForward('03:00:00')
    await console.page.getByText('3 hours ago').first().waitFor()
  })

  test('of a failed job says each thing at fault once', async () => {
    await signIn()
    await openNamed('failed job')
    await heading('It does not fit what is there CONFLICT').waitFor()
    for (const text of await console.page
      .getByRole('region', { name: 'Error' })
      .getByRole('listitem')
      .allTextContents())
      expect(await console.page.getByText(text).count(), text).toBe(1)
    expect(await console.page.getByText('does not fit its target').count()).toBe(1)
    await console.page.getByRole('cell', { name: 'failed, as said above' }).waitFor()
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
    await openNamed('event log')
    const table = cut(HOSTILE)
    const path = `/content/shop/live/${encodeURIComponent(table)}`
    expect((await hostile.wharf.root.post(path, { json: { id: 7 } })).status).toBe(201)
    const newest = console.page.getByRole('listitem').first()
    await expect.poll(() => newest.textContent()).toContain('id: 7')
    await newest.locator('strong').click()
    await newest.getByText('id: 7').waitFor()
  })

  test('of roles changes what they may do, and of webhooks sends again', async () => {
    await signIn()
    await openNamed('roles')
    await console.page.getByLabel('Name', { exact: true }).fill('exporter')
    await console.page.getByRole('button', { name: 'Make the role' }).click()
    await console.page.getByLabel('exporter: export rows').check()
    await console.page.getByRole('button', { name: 'Save: exporter' }).click()
    await eventually(async () => (await hostile.wharf.root.get('/projects/shop/roles')).json).toMatchObject({
      items: expect.arrayContaining([
        {
          name: 'exporter',
          content: expect.objectContaining({ export: true, read: false }),
          system: expect.anything(),
        },
      ]),
    })
    await openNamed('webhook')
    const tries = console.page.getByRole('row', { name: /webhook\.test/ })
    await tries.first().waitFor()
    await console.page.getByRole('button', { name: 'Turn off' }).click()
    await console.page.getByRole('button', { name: 'Turn on' }).waitFor()
  })

  test('of notifications calls their kinds the same everywhere, and says that there is more of the URL', async () => {
    await signIn()
    await openNamed('notifications')
    const kind = 'signed JSON (Standard Webhooks)'
    await console.page.getByRole('cell', { name: kind }).first().waitFor()
    expect(await console.page.getByLabel('Kind').locator('option').first().textContent()).toBe(kind)
    await console.page.getByText('the rest of the URL is a secret').waitFor()
    await openNamed('webhook')
    await console.page.getByRole('definition').filter({ hasText: kind }).waitFor()
    await console.page.getByText('the rest of the URL is a secret').waitFor()
  })

  test('of a webhook says when what waits is tried', async () => {
    const { database, root } = hostile.wharf
    const { id } = await makeWebhook(root, 'http://127.0.0.1:9/hook')
    await signIn()
    await goTo(`/notifications/${id}`)
    await console.page.getByRole('button', { name: 'Send a test' }).click()
    const delivery = console.page.getByRole('row', { name: /webhook\.test/ })
    await delivery.getByText('waiting, not tried yet').waitFor()
    for (const [due, says] of [
      [`interval '3 days'`, 'waiting, next try in 2 days'],
      [`interval '-1 minute'`, 'waiting, its next try is due'],
    ] as const) {
      await database.query(`UPDATE control.delivery SET attempt = 1, due_at = now() + ${due}`)
      await delivery.getByText(says).waitFor()
    }
  })

  test('tells who may not see it no more than that, by its address, too', async () => {
    const { token } = await createToken(hostile.wharf, 'viewer', 'copy')
    await signIn(token)
    await heading('copy').waitFor()
    for (const { name, path } of hostile.views) {
      await goTo('/import')
      await console.page.locator('#file').waitFor()
      await goTo(path)
      // What all may open shows what the token may see of it.
      if (OF_EVERYBODY.has(findPath(path).name))
        await console.page.getByRole('main').getByRole('heading').first().waitFor()
      else await console.page.getByRole('alert').filter({ hasText: /./ }).first().waitFor()
      const text = await console.page.locator('main').innerText()
      expect(text, name).not.toMatch(/undefined|\[object |NaN/)
      // Of rows, the address has the name of their table.
      if (!name.startsWith('rows of')) expect(text, name).not.toContain('onerror=')
    }
    for (const status of ['403', '404']) expectMessage(status)
  })

  test('is only in the navigation of who may see it', async () => {
    const { token } = await createToken(hostile.wharf, 'viewer', 'shop')
    await signIn(token)
    await heading('shop').waitFor()
    expect(await console.page.getByRole('link', { name: 'Server' }).count()).toBe(0)
    expect(await console.page.getByRole('link', { name: 'People' }).count()).toBe(1)
  })

  /** To look at: each view, wide and narrow, light and dark, into the folder that is named. */
  test.skipIf(SCREENSHOTS === undefined)(
    'is drawn into files',
    async () => {
      await signIn()
      for (const colorScheme of ['light', 'dark'] as const) {
        await console.page.emulateMedia({ colorScheme })
        for (const width of [1280, 400]) {
          await console.page.setViewportSize({ width, height: 800 })
          for (const view of hostile.views) {
            await open(view)
            await console.page.waitForLoadState('networkidle')
            const file = `${view.name.replaceAll(/[^a-z]+/gi, '-').slice(0, 40)}-${width}-${colorScheme}.png`
            await console.page.screenshot({ path: join(SCREENSHOTS ?? '', file), fullPage: true })
          }
        }
      }
    },
    600_000,
  )
})
