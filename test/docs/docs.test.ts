import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXAMPLE_ID } from '../../src/api/docs/example-values.ts'
import { examplesOf } from '../../src/api/docs/examples.ts'
import { type Operation, operationPath, operationsOf } from '../../src/api/docs/operations.ts'
import type { OpenApiDocument } from '../../src/api/openapi.ts'
import { installPackage } from '../support/clients/package-user.ts'
import { hasChromium, openConsole } from '../support/console/console-page.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let operations: readonly Operation[]
let folder: string
/** By the part of a path that stands before it. */
const ids: Record<string, string> = {}

beforeAll(async () => {
  wharf = await startWharf({ worker: true, environment: { WHARF_WEBHOOK_HOSTS: 'example.org' } })
  await createProject(wharf, 'demo', await readFile('demo/harbour.sql', 'utf8'))
  operations = operationsOf((await wharf.root.get('/openapi.json')).json as OpenApiDocument)
  folder = await mkdtemp(join(tmpdir(), 'wharf-test-docs-'))
})

afterAll(async () => {
  await wharf?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Runs a command as a shell does. @returns the status of the answer, and its body where that was not saved. */
async function runCurl(command: string) {
  const line = command
    .replace('curl ', "curl -sS --max-time 30 -w '\\n%{http_code}' ")
    .replaceAll(new RegExp(`/([a-z]+)/${EXAMPLE_ID}`, 'g'), (all, kind: string) =>
      ids[kind] ? `/${kind}/${ids[kind]}` : all,
    )
  const env = { PATH: process.env.PATH, WHARF_URL: wharf.url, WHARF_TOKEN: ROOT_TOKEN }
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 })
  const at = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(at)), text: stdout.slice(0, at) }
}

const curlOf = (id: string): string => {
  const operation = operations.find((entry) => entry.id === id)
  if (!operation) throw new Error(`there is no ${id}`)
  return examplesOf(operation).curl
}

test('examples in curl do what they say: those that change something, in an order that makes sense', async () => {
  const job = jobOf(await askExport(wharf.root, [{ slug: 'demo', system: false }]))
  await untilEnded(wharf.root, job)
  ids.jobs = job.id
  const kept: readonly (readonly [string, string?])[] = [
    ['importJobFile'],
    ['createProject'],
    ['createStage'],
    ['setRole'],
    ['changeProject'],
    ['applySchema'],
    ['insertRows'],
    ['updateRows'],
    ['putRow'],
    ['deleteRows'],
    ['createToken', 'tokens'],
    ['exportProjects'],
    ['examineExport'],
    ['importArchive'],
    ['createUpload', 'uploads'],
    ['createSchedule', 'schedules'],
    ['previewSchedule'],
    ['previewKeep'],
    ['changeSchedule'],
    ['createWebhook', 'webhooks'],
    ['changeWebhook'],
    ['transferProject'],
    ['beginSession'],
  ]
  for (const [id, kind] of kept) {
    const { status, text } = await runCurl(curlOf(id))
    expect(status, `${id}: ${text.slice(0, 500)}`).toBeLessThan(300)
    if (kind !== undefined) ids[kind] = (JSON.parse(text) as { readonly id: string }).id
  }
})

/** What is there only with a database of somebody's, with a delivery, or with a function of the project; or has no end. */
const NEEDS_MORE = new Set(['watchJobs', 'showAttachedServer', 'showAttachment', 'showDelivery', 'readFunction'])

test('examples in curl do what they say: all that only read', async () => {
  const reading = operations.filter(({ method, id }) => method === 'GET' && !NEEDS_MORE.has(id))
  expect(reading.length).toBeGreaterThan(25)
  for (const operation of reading) {
    const { status, text } = await runCurl(examplesOf(operation).curl)
    expect(status, `${operation.id}: ${text.slice(0, 500)}`).toBeLessThan(300)
  }
})

test('examples take the token from a variable, and never put it into an address', () => {
  for (const operation of operations) {
    const { curl, typescript } = examplesOf(operation)
    expect(curl.split('\n')[0]).not.toContain('TOKEN')
    expect(typescript).toMatch(/token: process\.env\.WHARF_TOKEN/)
  }
})

test('examples in TypeScript have the types of the package', async () => {
  const user = await installPackage()
  for (const operation of operations) {
    await user.write(`${operation.id}.ts`, examplesOf(operation).typescript)
  }
  expect(await user.checkTypes()).toBe('')
  await user.remove()
})

test('each call has a place, and no link leads nowhere', async () => {
  const pages = new Map<string, string>()
  const read = async (path: string): Promise<string> => {
    const known = pages.get(path)
    if (known !== undefined) return known
    const answer = await request(wharf.url + path)
    const text = await answer.body.text()
    expect(answer.statusCode, path).toBe(200)
    pages.set(path, text)
    return text
  }
  const waiting = ['/docs', ...operations.map(operationPath)]
  const seen = new Set<string>()
  for (let link = waiting.pop(); link !== undefined; link = waiting.pop()) {
    if (seen.has(link)) continue
    seen.add(link)
    const [path = '', id] = link.split('#')
    const text = await read(path)
    if (id !== undefined) expect(text.includes(`id="${id}"`), link).toBe(true)
    const links = [...text.matchAll(/<(?:a|img) [^>]*?(?:href|src)="([^"]+)"/g)].map(([, href = '']) => href)
    waiting.push(
      ...links.filter((href) => /^(\/docs|#)/.test(href)).map((href) => (href.startsWith('#') ? path + href : href)),
    )
  }
  expect(seen.size).toBeGreaterThan(100)
  expect(pages.has('/docs/guides/back-up-a-database')).toBe(true)
  // Of what is not in docs, and of files that are no guides.
  expect(pages.get('/docs/readme')).toContain('<img src="/docs/files/overview-')
  expect(pages.get('/docs/monitoring/alerts.yml')).toContain('groups:')
  expect(pages.get('/docs/systemd')).toContain('wharf-api.service')
  expect([...pages.keys()].some((path) => path.endsWith('.png'))).toBe(true)
})

test('pages, and what search looks through, come compressed to who takes that', async () => {
  for (const path of ['/docs', '/docs/errors', '/docs/files/search.json']) {
    const plain = await (await request(wharf.url + path)).body.text()
    const { headers, body } = await request(wharf.url + path, { headers: { 'accept-encoding': 'gzip' } })
    expect(headers, path).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    const bytes = Buffer.from(await body.arrayBuffer())
    expect(bytes.length, path).toBeLessThan(plain.length / 2)
    expect(gunzipSync(bytes).toString(), path).toBe(plain)
  }
})

test('pages run nothing but the scripts of this server, and no path leads out of them', async () => {
  const answer = await request(`${wharf.url}/docs`)
  const policy = String(answer.headers['content-security-policy'])
  expect(policy).toMatch(/^default-src 'none';/)
  expect(policy).toContain("require-trusted-types-for 'script'")
  expect(policy).not.toContain('unsafe')
  expect(await answer.body.text()).not.toMatch(/ style=|<style|<script>| on[a-z]+=/)
  const again = await request(`${wharf.url}/docs`, { headers: { 'if-none-match': String(answer.headers.etag) } })
  expect(again.statusCode).toBe(304)
  for (const path of ['/docs/..%2fguides', '/docs/files/..%2fguides.json', '/docs/__proto__', '/docs/nothing/here']) {
    const { statusCode, body } = await request(wharf.url + path)
    await body.dump()
    expect(statusCode, path).toBe(404)
  }
})

describe.skipIf(!hasChromium)('in a browser', () => {
  const browser = openConsole(() => wharf)
  const { assertAccessible } = browser
  const open = async (path: string): Promise<void> => void (await browser.page.goto(wharf.url + path))

  test('search finds calls and guides by keys alone', async () => {
    await open('/docs')
    const { page } = browser
    await page.keyboard.press('/')
    await page.keyboard.type('cancel job')
    await page
      .getByRole('status')
      .filter({ hasText: /\d+ found/ })
      .waitFor()
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('POST /jobs/{id}/cancel')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/api/jobs#cancelJob')
    await page.keyboard.press('/')
    await page.keyboard.type('five minutes')
    await page
      .getByRole('link', { name: /five minutes/ })
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByLabel('Search').inputValue()).toBe('')
    // What to do comes before what was done, with some of its text.
    await page.keyboard.type('restore')
    const results = page.locator('#found li')
    await results.filter({ hasText: 'POST /import' }).filter({ hasText: 'restores it' }).first().waitFor()
    const shown = await results.allTextContents()
    const past = shown.map((text) => /Changelog|Contributing/.test(text))
    expect(past.indexOf(true)).toBeGreaterThan(past.lastIndexOf(false))
    await page.keyboard.press('Escape')
  })

  test('an example is copied as it stands', async () => {
    await browser.browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await open('/docs/api/jobs')
    await browser.page.getByRole('button', { name: 'Copy curl of showJob' }).click()
    await browser.page.getByText('Copied').waitFor()
    expect(await browser.page.evaluate('navigator.clipboard.readText()')).toBe(curlOf('showJob'))
  })

  test('pages fit a phone, and axe finds nothing, in light and dark', async () => {
    const paths = [
      '/docs',
      '/docs/api/jobs',
      '/docs/api/schedules',
      '/docs/api/schemas',
      '/docs/errors',
      '/docs/client',
      '/docs/readme',
      '/docs/systemd',
    ]
    const folderOfPictures = process.env.SCREENSHOTS
    for (const path of paths) {
      await open(path)
      for (const width of [400, 1280]) {
        await browser.page.setViewportSize({ width, height: 900 })
        for (const colorScheme of ['light', 'dark'] as const) {
          await browser.page.emulateMedia({ colorScheme })
          if (width === 400) await assertAccessible(`${path} ${colorScheme}`)
          if (folderOfPictures !== undefined) {
            const name = `${path.slice(1).replaceAll('/', '-')}-${width}-${colorScheme}.png`
            await browser.page.screenshot({ path: join(folderOfPictures, name) })
          }
        }
        expect(await browser.page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(width)
      }
    }
  })
})
