import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { isInstalled } from '../processes/is-installed.ts'
import { type Browser, startChromium } from '../servers/chromium.ts'
import { ROOT_TOKEN, type TestWharf } from '../service/wharf.ts'

/** Sets `window.hacked` wherever it is taken for more than a text. */
export const HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

export const hasChromium = isInstalled('/usr/bin/chromium')
if (!hasChromium) process.stderr.write('chromium is not installed: tests of the console in a browser are left out\n')

/** The console in a browser: a new tab for each test of a group, in which nothing may be said or run that should not. */
export interface ConsolePage {
  readonly page: Page
  readonly browser: Browser
  /** Lets the browser's console have messages with this text: it notes each answer that refuses. */
  expectMessage(text: string): void
  signIn(token?: string): Promise<void>
  goTo(path: string): Promise<void>
  heading(name: string): ReturnType<Page['getByRole']>
  /** Expects that axe finds nothing in what is shown. */
  assertAccessible(view: string): Promise<void>
}

/** To be called in a group of tests. @param wharf what is looked at, once its tests run. */
export function openConsole(wharf: () => TestWharf): ConsolePage {
  let browser: Browser
  let page: Page
  let messages: string[]
  let expected: string[]

  beforeAll(async () => {
    browser = await startChromium()
  })
  afterAll(() => browser.close())

  beforeEach(async () => {
    messages = []
    expected = []
    page = await browser.context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) messages.push(message.text())
    })
    page.on('pageerror', (error) => messages.push(error.message))
    page.on('request', (sent) => {
      if (!sent.url().startsWith(wharf().url) && !sent.url().startsWith('blob:')) messages.push(sent.url())
    })
    await page.goto(wharf().url)
  })
  afterEach(async () => {
    const hacked = await page.evaluate('window.hacked')
    await page.close()
    expect(hacked).toBeUndefined()
    expect(messages.filter((text) => !expected.some((part) => text.includes(part)))).toEqual([])
  })

  return {
    get page() {
      return page
    },
    get browser() {
      return browser
    },
    expectMessage: (text) => void expected.push(text),
    async signIn(token = ROOT_TOKEN) {
      await page.getByLabel('Token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page
        .getByRole('heading', { name: 'Overview' })
        .or(page.getByRole('alert').filter({ hasText: /./ }))
        .waitFor()
    },
    goTo: async (path) => void (await page.goto(`${wharf().url}/#${path}`)),
    heading: (name) => page.getByRole('heading', { name, exact: true }),
    async assertAccessible(view) {
      const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
      const ids = await page.evaluate(`${axe}; axe.run().then(({ violations }) => violations.map(({ id }) => id))`)
      expect(ids, view).toEqual([])
    },
  }
}
