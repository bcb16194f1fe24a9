import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fireDue } from '../../src/jobs/schedules/fire.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import { type Browser, startChromium } from '../support/servers/chromium.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

const HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
const HTML = { accept: 'text/html,*/*;q=0.8' }

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(
    wharf,
    'shop',
    'CREATE TABLE t AS SELECT n, repeat(md5(n::text), 8) AS v FROM generate_series(1, 500) n',
  )
  await createProject(wharf, 'blog')
  await makeSchedule(wharf.root, 'shop', { name: HOSTILE })
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
    const paths = [...html.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(paths).toHaveLength(3)
    let sizeBytes = gzipSync(html).length
    for (const path of paths) {
      const file = await get(path, {})
      expect(file.statusCode, path).toBe(200)
      expect(file.headers['cache-control']).toContain('immutable')
      sizeBytes += gzipSync(Buffer.from(await file.body.arrayBuffer())).length
    }
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

const hasChromium = isInstalled('/usr/bin/chromium')
if (!hasChromium) process.stderr.write('chromium is not installed: tests of the console in a browser are left out\n')

describe.skipIf(!hasChromium)('in a browser', () => {
  let browser: Browser
  let page: Page
  let messages: string[]

  beforeAll(async () => {
    browser = await startChromium()
  })
  afterAll(() => browser.close())

  beforeEach(async () => {
    messages = []
    page = await browser.context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) messages.push(message.text())
    })
    page.on('pageerror', (error) => messages.push(error.message))
    page.on('request', (sent) => {
      if (!sent.url().startsWith(wharf.url) && !sent.url().startsWith('blob:')) messages.push(sent.url())
    })
    await page.goto(wharf.url)
  })
  afterEach(async () => {
    const hacked = await page.evaluate('window.hacked')
    await page.close()
    expect(hacked).toBeUndefined()
    expect(messages).toEqual([])
  })

  async function signIn(token = ROOT_TOKEN): Promise<void> {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  const heading = (name: string) => page.getByRole('heading', { name, exact: true })

  test('who signs in and out leaves nothing behind, and another tab has to sign in by itself', async () => {
    await signIn()
    await heading('Overview').waitFor()
    const other = await browser.context.newPage()
    await other.goto(wharf.url)
    await other.getByLabel('Token').waitFor()
    await other.close()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0)
  })

  test('a token that Wharf does not know is refused with the reason', async () => {
    await signIn('no-such-token')
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/token/i)
    // The browser itself notes each answer that refuses.
    messages = messages.filter((text) => !text.includes('401'))
  })

  test('a token sees its own projects, and is signed out once it is revoked', async () => {
    const { id, token } = await createToken(wharf, 'viewer', 'blog')
    await signIn(token)
    await heading('blog').waitFor()
    expect(await heading('shop').count()).toBe(0)
    await page.getByRole('link', { name: 'Jobs' }).click()
    await heading('Jobs').waitFor()
    await wharf.root.delete(`/tokens/${id}`)
    await page.getByText('The token is not valid any more.').waitFor()
    messages = messages.filter((text) => !text.includes('401'))
  })

  test('a project is exported, and its archive downloaded byte for byte', async () => {
    await signIn()
    await page.getByRole('button', { name: 'Export now: shop' }).click()
    const button = page.getByRole('button', { name: 'Download' })
    await button.waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
    expect(download.suggestedFilename()).toMatch(/^shop\.jsonl\.(gz|zst)$/)
    const saved = await readFile(await download.path())
    const id = new URL(page.url()).hash.split('/').at(-1)
    const file = await wharf.root.get(`/jobs/${id}/file`)
    expect(saved.equals(file.bytes)).toBe(true)
    if (download.suggestedFilename().endsWith('.gz')) expect(gunzipSync(saved).toString()).toContain('"end"')
  })

  test('an export is asked for again', async () => {
    const first = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await signIn()
    await heading('Overview').waitFor()
    await page.goto(`${wharf.url}/#/jobs/${first.id}`)
    await page.getByRole('button', { name: 'Again' }).click()
    await expect.poll(() => page.url()).not.toContain(first.id)
    await page.getByText('succeeded').waitFor()
  })

  test('a job that a schedule has begun stands in its strip, whatever its name', async () => {
    await fireDue(wharf.container, new Date(Date.now() + 26 * 3_600_000))
    await signIn()
    await page
      .getByRole('list', { name: `Runs of ${HOSTILE}` })
      .getByRole('link')
      .first()
      .waitFor()
    expect(await page.getByRole('heading', { name: HOSTILE }).count()).toBe(1)
  })

  test('a hostile address and a job that is not there execute nothing, and are told', async () => {
    await signIn()
    await heading('Overview').waitFor()
    await page.goto(`${wharf.url}/#/jobs/${encodeURIComponent(HOSTILE)}`)
    await heading('Jobs').waitFor()
    await page.goto(`${wharf.url}/#/jobs/00000000-0000-4000-8000-000000000000`)
    await expect.poll(() => page.getByRole('alert').first().textContent()).toContain('00000000')
    messages = messages.filter((text) => !text.includes('404'))
  })

  test('the page says that Wharf does not answer, and goes on by itself', async () => {
    await signIn()
    await page.getByRole('link', { name: 'Jobs' }).click()
    await heading('Jobs').waitFor()
    await page.route('**/jobs?*', (route) => route.abort())
    await page.getByText('Wharf does not answer.').waitFor()
    await page.unroute('**/jobs?*')
    await page.getByText('Wharf does not answer.').waitFor({ state: 'detached' })
    messages = messages.filter((text) => !text.includes('ERR_FAILED'))
  })

  test.each(['light', 'dark'] as const)('axe finds nothing in any view that is %s', async (colorScheme) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    const { id } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    await page.emulateMedia({ colorScheme })
    const assertClean = async (view: string): Promise<void> => {
      const ids = await page.evaluate(`${axe}; axe.run().then(({ violations }) => violations.map(({ id }) => id))`)
      expect(ids, view).toEqual([])
    }
    await page.getByLabel('Token').waitFor()
    await assertClean('sign in')
    await signIn()
    await heading('shop').waitFor()
    await assertClean('overview')
    await page.goto(`${wharf.url}/#/jobs`)
    await page.getByText('export of shop').first().waitFor()
    await assertClean('jobs')
    await page.goto(`${wharf.url}/#/jobs/${id}`)
    await page.getByText('succeeded').waitFor()
    await assertClean('job')
  })
})
