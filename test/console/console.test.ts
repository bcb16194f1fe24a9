import { readFile } from 'node:fs/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOSTILE, hasChromium, openConsole } from '../support/console/console-page.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { makeOverdue, makeSchedule, type SeenSchedule } from '../support/jobs/schedules.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const HTML = { accept: 'text/html,*/*;q=0.8' }

let wharf: TestWharf
let schedule: SeenSchedule

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(
    wharf,
    'shop',
    'CREATE TABLE t AS SELECT n, repeat(md5(n::text), 8) AS v FROM generate_series(1, 500) n',
  )
  await createProject(wharf, 'blog')
  schedule = await makeSchedule(wharf.root, 'shop', { name: HOSTILE })
})

afterAll(() => wharf.close())

const get = (path: string, headers: Readonly<Record<string, string>> = HTML) => request(wharf.url + path, { headers })

describe('what is served', () => {
  test('browsers get a page at /, and everybody else what they got before there was one', async () => {
    const page = await get('/')
    expect(page.statusCode).toBe(200)
    expect(page.headers['content-type']).toMatch(/^text\/html/)
    await page.body.dump()
    for (const accept of ['application/json', '*/*']) {
      const answer = await get('/', { accept })
      expect(answer.statusCode, accept).toBe(404)
      expect(await answer.body.json()).toMatchObject({ type: 'urn:wharf:error:not-found' })
    }
  })

  test('the page may run its own scripts alone, and its files are kept for ever', async () => {
    const page = await get('/')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none';/)
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toContain('unsafe')
    const again = await get('/', { ...HTML, 'if-none-match': String(page.headers.etag) })
    expect(again.statusCode).toBe(304)
    expect(again.headers['content-security-policy']).toBe(policy)

    const html = await page.body.text()
    const paths = new Set([...html.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path = '']) => path))
    let sizeBytes = gzipSync(html).length
    // Scripts load others: all of them are there once somebody has signed in.
    for (const path of paths) {
      const file = await get(path, {})
      expect(file.statusCode, path).toBe(200)
      expect(file.headers['cache-control']).toContain('immutable')
      const text = await file.body.text()
      sizeBytes += gzipSync(text).length
      for (const [, name] of text.matchAll(/"\.\/([\w-]+\.js)"/g)) paths.add(`/console/${name}`)
    }
    expect([...paths].filter((path) => path.endsWith('.js')).length).toBeGreaterThan(2)
    expect(sizeBytes).toBeLessThan(150_000)
  })

  test('no path leads out of the folder of the page', async () => {
    for (const name of ['..%2f..%2fpackage.json', '%2e%2e%2fmain.js', 'index.html', 'main.js', '__proto__']) {
      const answer = await get(`/console/${name}`)
      expect(answer.statusCode, name).toBe(404)
      await answer.body.dump()
    }
  })
})

describe.skipIf(!hasChromium)('in a browser', () => {
  const console = openConsole(() => wharf)
  const { signIn, goTo, heading, expectMessage, assertAccessible } = console

  test('who signs in and out leaves nothing behind, and another tab has to sign in by itself', async () => {
    await signIn()
    await heading('Overview').waitFor()
    const other = await console.browser.context.newPage()
    await other.goto(wharf.url)
    await other.getByLabel('Token').waitFor()
    await other.close()
    await console.page.getByRole('button', { name: 'Sign out' }).click()
    await console.page.getByLabel('Token').waitFor()
    expect(await console.page.evaluate('sessionStorage.length + localStorage.length')).toBe(0)
  })

  test('a page of another origin can neither frame it nor ask anything with its cookie, though both are of one site', async () => {
    await console.page.getByLabel('Token').fill(ROOT_TOKEN)
    await console.page.getByLabel('Stay signed in on this device').check()
    await console.page.getByRole('button', { name: 'Sign in' }).click()
    await heading('shop').waitFor()
    const jobs = async () => JSON.stringify((await wharf.root.get('/jobs')).json)
    const before = await jobs()

    const { url } = await serveHttp((_request, response) => {
      response.setHeader('content-type', 'text/html').end(`<iframe src="${wharf.url}/"></iframe>`)
    })
    const other = await console.browser.context.newPage()
    await other.goto(url)
    expect((await console.browser.context.cookies(wharf.url)).map(({ name }) => name)).toEqual(['wharf-session'])
    const asked = await other.evaluate(`Promise.all([
      { mode: 'no-cors', method: 'POST', body: '{"projects":[{"slug":"shop"}]}' },
      { mode: 'no-cors', method: 'POST', body: '{}', headers: { 'wharf-session': '1' } },
      { method: 'POST', body: '{}', headers: { 'wharf-session': '1', 'content-type': 'application/json' } },
      { method: 'GET', headers: { 'wharf-session': '1' } },
      { method: 'GET' },
    ].map((init) => fetch('${wharf.url}/export', { ...init, credentials: 'include' }).then(({ type }) => type, () => 'refused')))`)
    // The first two are sent all the same, without that header: they are nobody's.
    expect(asked).toEqual(Array(5).fill('refused'))
    const [frame] = other.frames().slice(1)
    expect(await frame?.locator('#console').count()).toBe(0)
    await other.close()
    expect(await jobs()).toBe(before)
    await console.page.getByRole('button', { name: 'Sign out' }).click()
    await console.page.getByLabel('Token').waitFor()
  })

  test('no text becomes a part of the page, nor code', async () => {
    for (const script of [
      `document.body.innerHTML = '<b>bold</b>'`,
      `document.createElement('script').src = 'https://example.org/a.js'`,
      `trustedTypes.createPolicy('mine', { createHTML: (text) => text })`,
    ]) {
      const tried = `(() => { try { ${script}; return 'done' } catch (error) { return error.name } })()`
      expect(await console.page.evaluate(tried), script).toBe('TypeError')
    }
    expectMessage('Trusted')
    expectMessage('trusted-types')
  })

  test('keys open views, and a page that was opened has the focus and its name', async () => {
    await signIn()
    // What listens to keys is loaded once somebody has signed in.
    const opened = async (): Promise<number> => {
      await console.page.keyboard.press('g')
      await console.page.keyboard.press('j')
      return heading('Jobs').count()
    }
    await expect.poll(opened).toBe(1)
    await expect.poll(() => console.page.title()).toBe('Jobs · Wharf')
    await expect.poll(() => console.page.evaluate('document.activeElement.tagName')).toBe('MAIN')
    await console.page.goto(`${wharf.url}/#/schedules/new`)
    await console.page.getByLabel('Name', { exact: true }).pressSequentially('gj')
    expect(await heading('New schedule').count()).toBe(1)
  })

  test('a token that Wharf does not know is refused with the reason', async () => {
    await signIn('no-such-token')
    await expect.poll(() => console.page.getByRole('alert').textContent()).toMatch(/token/i)
    // The browser itself notes each answer that refuses.
    expectMessage('401')
  })

  test('a token sees its own projects, and is signed out once it is revoked', async () => {
    const { id, token } = await createToken(wharf, 'viewer', 'blog')
    await signIn(token)
    await heading('blog').waitFor()
    expect(await heading('shop').count()).toBe(0)
    await console.page.getByRole('link', { name: 'Jobs' }).click()
    await heading('Jobs').waitFor()
    await wharf.root.delete(`/tokens/${id}`)
    await console.page.getByText('The token is not valid any more.').waitFor()
    expectMessage('401')
  })

  test('a project is exported, and its archive downloaded byte for byte', async () => {
    await signIn()
    await console.page.getByRole('button', { name: 'Export now: shop' }).click()
    const button = console.page.getByRole('button', { name: 'Download' })
    await button.waitFor()
    const [download] = await Promise.all([console.page.waitForEvent('download'), button.click()])
    expect(download.suggestedFilename()).toMatch(/^shop-\d{4}-\d\d-\d\d\.jsonl\.(gz|zst)$/)
    const saved = await readFile(await download.path())
    const id = new URL(console.page.url()).hash.split('/').at(-1)
    const file = await wharf.root.get(`/jobs/${id}/file`)
    expect(saved.equals(file.bytes)).toBe(true)
    if (download.suggestedFilename().endsWith('.gz')) expect(gunzipSync(saved).toString()).toContain('"end"')
  })

  test('an export is asked for again', async () => {
    const first = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await signIn()
    await heading('Overview').waitFor()
    await console.page.goto(`${wharf.url}/#/jobs/${first.id}`)
    await console.page.getByRole('button', { name: 'Export again' }).click()
    await expect.poll(() => console.page.url()).not.toContain(first.id)
    await console.page.getByText('succeeded').waitFor()
  })

  test('the strip of a project has thirty nights with their dates, and today is yet to come where a schedule runs later', async () => {
    await signIn()
    const nights = console.page.getByRole('region', { name: 'blog' }).getByRole('listitem').locator('[data-label]')
    await expect.poll(async () => (await nights.allTextContents()).at(-1)).toMatch(/^\w{3} \d+ \w{3,4}: none$/)
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
    const { id } = await makeSchedule(wharf.root, 'blog', { cron: '59 23 * * *', timezone })
    try {
      await goTo('/jobs')
      await goTo('/')
      await expect.poll(async () => (await nights.allTextContents()).at(-1)).toMatch(/: yet to come$/)
      expect(await nights.count()).toBe(30)
      await console.page
        .getByText(/^\d+ \w+ – \d+ \w+$/)
        .first()
        .waitFor()
    } finally {
      await wharf.root.delete(`/schedules/${id}`)
    }
  })

  test('a night that a schedule has begun stands in the strip of its project, whatever the name of the schedule', async () => {
    await wharf.root.post(`/schedules/${schedule.id}/run`)
    await signIn()
    const nights = console.page.getByRole('list', { name: 'Nights of shop' })
    await nights.getByRole('link').last().waitFor()
    expect(await nights.getByRole('listitem').count()).toBe(30)
    expect(await console.page.getByRole('link', { name: HOSTILE }).count()).toBe(1)
    // Its date stands beside the square that is pointed at.
    const last = nights.getByRole('link').last()
    await last.hover()
    const label = await console.page.evaluate(
      `getComputedStyle(document.querySelector('.nights a:hover'), '::after').content`,
    )
    expect(label).toMatch(/^"\w{3} \d+ \w{3,4}: \w+/)
    // One stop of the tab key, whose neighbours the arrow keys reach.
    expect(await nights.locator('[tabindex="0"]').count()).toBe(1)
  })

  test('a project whose last archive is too old is loud, comes first, and is found by a search', async () => {
    const takeBack = await makeOverdue(wharf, schedule, 2)
    try {
      await signIn()
      await console.page.getByText('Overdue for 2 days').waitFor()
      await console.page.locator('.projects > .overdue:first-child').waitFor()
      await console.page.keyboard.press('/')
      await console.page.keyboard.type('blo')
      await heading('shop').waitFor({ state: 'detached' })
      await heading('blog').waitFor()
      await console.page.keyboard.press('Escape')
    } finally {
      await takeBack()
    }
  })

  test('a project is loud to the root token where no archive is kept and no schedule makes one', async () => {
    await createProject(wharf, 'bare')
    const { token } = await createToken(wharf, 'viewer', 'bare')
    const bare = console.page.getByRole('region', { name: 'bare' })
    const warning = bare.getByText('Not backed up: no archive is kept, and no schedule makes one.')
    await signIn(token)
    await bare.getByText('in no schedule that this token may see').waitFor()
    expect(await warning.count()).toBe(0)
    await console.page.getByRole('button', { name: 'Sign out' }).click()

    await signIn()
    await warning.waitFor()
    await bare.getByRole('link', { name: 'New schedule' }).click()
    await heading('New schedule').waitFor()
    const { id } = jobOf(await askExport(wharf.root, [{ slug: 'bare' }]))
    await goTo(`/jobs/${id}`)
    await console.page.getByText('succeeded').waitFor()
    await goTo('/')
    await bare.getByText('in no schedule', { exact: true }).waitFor()
    expect(await warning.count()).toBe(0)
  })

  test('a view whose answer takes long says that it is being loaded, until it is there', async () => {
    await signIn()
    await heading('shop').waitFor()
    const loading = console.page.getByRole('status').getByText('Loading …')
    expect(await loading.count()).toBe(0)
    const network = await console.page.context().newCDPSession(console.page)
    const slow = { offline: false, latency: 3_000, downloadThroughput: -1, uploadThroughput: -1 }
    await network.send('Network.emulateNetworkConditions', slow)
    await console.page.getByRole('link', { name: 'Schedules', exact: true }).click()
    await loading.waitFor()
    await console.page.getByRole('article', { name: HOSTILE }).waitFor()
    expect(await loading.count()).toBe(0)
  })

  test('a hostile address and a job that is not there execute nothing, and are told', async () => {
    await signIn()
    await heading('Overview').waitFor()
    await console.page.goto(`${wharf.url}/#/jobs/${encodeURIComponent(HOSTILE)}`)
    await heading('Jobs').waitFor()
    await console.page.goto(`${wharf.url}/#/jobs/00000000-0000-4000-8000-000000000000`)
    await expect.poll(() => console.page.getByRole('alert').first().textContent()).toContain('00000000')
    expectMessage('404')
  })

  test('who leaves the list of jobs at once comes to where they went, also in a slow browser', async () => {
    await signIn()
    const session = await console.browser.context.newCDPSession(console.page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: 10 })
    for (let n = 0; n < 10; n += 1) {
      await goTo('/jobs')
      await goTo('/')
      await heading('Overview').waitFor()
    }
  })

  test('the page says that Wharf does not answer, and goes on by itself', async () => {
    await signIn()
    await console.page.getByRole('link', { name: 'Jobs' }).click()
    await heading('Jobs').waitFor()
    // Where no events come through, jobs are read again and again.
    await console.page.route('**/jobs/events?*', (route) => route.fulfill({ status: 429 }))
    await goTo('/')
    await heading('Overview').waitFor()
    await goTo('/jobs')
    const { id } = jobOf(await askExport(wharf.root, [{ slug: 'blog' }]))
    await console.page.locator(`a[href="#/jobs/${id}"]`).waitFor()
    await console.page.route('**/jobs?*', (route) => route.abort())
    await console.page.getByText('Wharf does not answer.').waitFor()
    await console.page.unroute('**/jobs?*')
    await console.page.getByText('Wharf does not answer.').waitFor({ state: 'detached' })
    expectMessage('429')
    expectMessage('ERR_FAILED')
  })

  test('a view that reads several things says once that Wharf does not answer', async () => {
    await signIn()
    await heading('Overview').waitFor()
    await console.page.route(/\/(status|queue|doctor|projects)\b/, (route) => route.abort())
    await goTo('/server')
    await console.page.getByText('Wharf does not answer. This page tries again by itself.').waitFor()
    await heading('Health').waitFor()
    await assertAccessible('a view that has nothing yet')
    expect(await console.page.getByText('Wharf does not answer').count()).toBe(1)
    await console.page.unroute(/\/(status|queue|doctor|projects)\b/)
    await console.page.getByText('Wharf does not answer.').waitFor({ state: 'detached' })
    await console.page.getByRole('rowheader', { name: 'data folder', exact: true }).waitFor()
    expectMessage('ERR_FAILED')
  })

  test('the page says where all that is behind the sign-in could not be loaded, and how to go on', async () => {
    await console.page.route('**/console/console-*.js', (route) => route.abort())
    await console.page.reload()
    await console.page.getByLabel('Token').fill(ROOT_TOKEN)
    await console.page.getByRole('button', { name: 'Sign in' }).click()
    await console.page.getByText('Wharf does not answer.').waitFor()
    await console.page.unroute('**/console/console-*.js')
    await console.page.getByRole('button', { name: 'Load the page again' }).click()
    await heading('shop').waitFor()
    expectMessage('ERR_FAILED')
  })

  test('what is overdue comes first, also of projects that stand on a later page', async () => {
    const others = Array.from({ length: 25 }, (_, n) => `a${n}`)
    for (const slug of others) await createProject(wharf, slug)
    const takeBack = await makeOverdue(wharf, schedule)
    try {
      await signIn()
      await console.page.locator('.projects > .overdue:first-child').getByRole('heading', { name: 'shop' }).waitFor()
      await heading('a0').waitFor()
      await console.page.getByRole('button', { name: 'Next projects' }).click()
      await heading('a0').waitFor({ state: 'detached' })
      await heading('shop').waitFor()
    } finally {
      await takeBack()
      for (const slug of others) await wharf.root.delete(`/projects/${slug}`)
    }
  })

  test.each(['light', 'dark'] as const)('axe finds nothing in any view that is %s', async (colorScheme) => {
    const { id } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await console.page.emulateMedia({ colorScheme })
    await console.page.getByLabel('Token').waitFor()
    await assertAccessible('sign in')
    await signIn()
    await heading('shop').waitFor()
    await assertAccessible('overview')
    await console.page.goto(`${wharf.url}/#/jobs`)
    await console.page.getByText('export of shop').first().waitFor()
    await assertAccessible('jobs')
    await console.page.goto(`${wharf.url}/#/jobs/${id}`)
    await console.page.getByText('succeeded').waitFor()
    await assertAccessible('job')
  })
})
