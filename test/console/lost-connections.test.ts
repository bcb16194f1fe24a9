import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openConsole } from '../support/console/console-page.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, showJob } from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { startTcpRelay, type TcpRelay } from '../support/servers/tcp-relay.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken } from '../support/service/tokens.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Bytes of an answer after which a connection breaks. */
const CUT_BYTES = 700_000

describe.skipIf(!hasChromium)('who loses connections, in a browser', () => {
  /** Does the jobs. */
  let wharf: TestWharf
  /** The API that the page is from, beside it, by way of a network that fails. */
  let front: TestWharf
  let relay: TcpRelay
  /** How often a connection still breaks in the middle of a long answer. */
  let cuts = 0

  const console = openConsole(() => ({ ...wharf, url: new URL(relay.url).origin }))
  const { signIn, goTo, heading, expectMessage } = console
  const button = (name: string) => console.page.getByRole('button', { name, exact: true })
  const startFront = () => startWharf({ beside: wharf })

  beforeAll(async () => {
    wharf = await startWharf({ worker: true })
    front = await startFront()
    relay = await startTcpRelay(
      () => front.url,
      (breakOff) => {
        let sent = 0
        let isBroken = false
        return {
          asks: () => true,
          answers(chunk) {
            if (isBroken) return false
            sent += chunk.length
            if (cuts === 0 || sent < CUT_BYTES) return true
            cuts -= 1
            isBroken = true
            // A reset throws away what the browser has not read yet: it has this long to read.
            setTimeout(breakOff, 500)
            return false
          },
        }
      },
    )
    await createProject(
      wharf,
      'shop',
      `CREATE TABLE item (id int PRIMARY KEY, text text);
       INSERT INTO item SELECT n, (SELECT string_agg(md5(n::text || m), '') FROM generate_series(1, 10) m)
         FROM generate_series(1, 12000) n`,
    )
  })
  afterAll(async () => {
    await relay.cut()
    await front.close()
    await wharf.close()
  })

  /** Runs `use` while nobody can read the table, so that an export of it goes on. */
  const whileLocked = (use: (release: () => Promise<void>) => Promise<void>): Promise<void> =>
    withSession(wharf.database.url, async (client) => {
      await client.query('BEGIN; LOCK TABLE "shop.live".item IN ACCESS EXCLUSIVE MODE')
      await use(async () => void (await client.query('COMMIT')))
    })
  const newJob = async (): Promise<string> => {
    const { id } = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
    return id
  }
  const running = (id: string) => eventually(async () => (await showJob(wharf.root, id)).status).toBe('running')
  const succeeded = (id: string) => eventually(async () => (await showJob(wharf.root, id)).status).toBe('succeeded')

  test('signs in with each kind of role, and sees what it may see', async () => {
    await wharf.root.put('/projects/shop/roles/nothing', { json: {} })
    for (const role of ['admin', 'content_admin', 'editor', 'viewer', 'nothing']) {
      const { token } = await createToken(wharf, role, 'shop')
      await signIn(token)
      await heading('shop').waitFor()
      await goTo('/people')
      await console.page.getByText(`${role}: `).waitFor()
      await goTo('/')
      await button('Sign out').click()
      await console.page.getByLabel('Token').waitFor()
    }
  })

  test('stays signed in by a cookie that no script can read, until it signs out in any tab', async () => {
    await console.page.getByLabel('Token').fill(ROOT_TOKEN)
    await console.page.getByLabel('Stay signed in on this device').check()
    await button('Sign in').click()
    await heading('Overview').waitFor()
    expect(await console.page.evaluate('document.cookie + JSON.stringify({ ...sessionStorage })')).toBe('{}')
    const [cookie] = await console.browser.context.cookies()
    expect(cookie).toMatchObject({ name: 'wharf-session', httpOnly: true, sameSite: 'Strict' })
    const other = await console.browser.context.newPage()
    await other.goto(`${relay.url}#/jobs`)
    await other.getByRole('heading', { name: 'Jobs' }).waitFor()
    await button('Sign out').click()
    await other.getByText('Signed out in another tab.').waitFor()
    // Other tabs know before the answer that takes the cookie away has come.
    await expect.poll(() => console.browser.context.cookies()).toEqual([])
    await other.close()
  })

  test('is told that the connection was lost in a download, which goes on, byte for byte', async () => {
    const id = await newJob()
    await succeeded(id)
    await signIn()
    await goTo(`/jobs/${id}`)
    const starts: number[] = []
    console.page.on('request', (request) => {
      if (!request.url().endsWith('/file')) return
      starts.push(Number(/\d+/.exec(request.headers().range ?? '0')?.[0]))
    })
    cuts = 2
    expectMessage('net::ERR')
    const [download] = await Promise.all([console.page.waitForEvent('download'), button('Download').click()])
    const saved = await readFile(await download.path())
    const file = await wharf.root.get(`/jobs/${id}/file`)
    expect(saved.equals(file.bytes)).toBe(true)
    expect(cuts).toBe(0)
    // How much of it had arrived when a connection was cut is for the network to say.
    expect(starts).toHaveLength(3)
    expect(starts[2]).toBeGreaterThan(0)
  })

  test('sees how far an export has come, as it goes on, without asking again and again', async () => {
    await createProject(
      wharf,
      'slow',
      'CREATE TABLE item AS SELECT n, repeat(md5(n::text), 20) AS text FROM generate_series(1, 50000) n; ANALYZE item',
    )
    await signIn()
    // Half a minute long.
    const request = { projects: [{ slug: 'slow' }], maxBytesPerSecond: 1024 * 1024 }
    const { id } = jobOf(await wharf.root.post('/export', { json: request, headers: { prefer: 'respond-async' } }))
    let looks = 0
    console.page.on('request', (request) => {
      if (request.url().endsWith(`/jobs/${id}`)) looks += 1
    })
    await goTo(`/jobs/${id}`)
    const progress = async () => {
      const text = (await console.page.locator('.progress').textContent()) ?? ''
      const [, rows = '', amount = '', unit = ''] =
        /: ([\d,]+) rows, ([\d.]+) (kB|MB), of 50,000 rows, about \d+ \w+ left$/.exec(text) ?? []
      return { rows: Number(rows.replaceAll(',', '')), bytes: Number(amount) * (unit === 'MB' ? 1_000_000 : 1_000) }
    }
    await expect.poll(async () => (await progress()).bytes).toBeGreaterThan(0)
    const before = await progress()
    await expect.poll(async () => (await progress()).rows).toBeGreaterThan(before.rows)
    await expect.poll(async () => (await progress()).bytes).toBeGreaterThan(before.bytes)
    expect(looks).toBe(1)
    await button('Cancel').click()
    await console.page.getByText('cancelled').waitFor()
  })

  test('cancels a job that runs', async () => {
    await whileLocked(async () => {
      const id = await newJob()
      await running(id)
      await signIn()
      await goTo(`/jobs/${id}`)
      await button('Cancel').click()
      await console.page.getByText('cancelled').waitFor()
      expect(await showJob(wharf.root, id)).toMatchObject({ status: 'cancelled' })
    })
  })

  test('sees the same job in two tabs, also while the API is started again', async () => {
    await whileLocked(async (release) => {
      const id = await newJob()
      await running(id)
      await signIn()
      await goTo(`/jobs/${id}`)
      await console.page.getByText('running').waitFor()
      const other = await console.browser.context.newPage()
      await other.goto(relay.url)
      await other.getByLabel('Token').fill(ROOT_TOKEN)
      await other.getByRole('button', { name: 'Sign in' }).click()
      await other.getByRole('heading', { name: 'Overview' }).waitFor()
      await other.goto(`${relay.url}#/jobs/${id}`)
      await other.getByText('running').waitFor()

      expectMessage('net::ERR')
      await front.close()
      for (const page of [console.page, other]) {
        await page.getByText('Wharf does not answer. This page tries again by itself.').waitFor()
        expect(await page.getByText('running').count()).toBe(1)
      }
      await release()
      front = await startFront()
      for (const page of [console.page, other]) {
        await page.getByText('succeeded').waitFor()
        await page.getByText('Wharf does not answer.').waitFor({ state: 'detached' })
      }
      await other.close()
    })
  })
})
