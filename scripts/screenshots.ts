/**
 * Draws the README's pictures of the console again, `docs/console/`, from the demo project of a new installation that has made
 * archives for a month. To be run after the console has changed, and after `npm run build`.
 *
 * Usage: npx tsx scripts/screenshots.ts
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { startChromium } from '../test/support/servers/chromium.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PICTURES = join(ROOT, 'docs/console')

/** How many archives the schedule keeps: of earlier nights, only the record is left. */
const KEPT = 14

const withId = z.looseObject({ id: z.string() })
const runs = z.looseObject({
  runs: z.array(z.looseObject({ jobId: z.string().nullable(), provenAt: z.string().nullable() })),
})

interface Installation {
  readonly url: string
  readonly token: string
  readonly folder: string
}

/** Asks the service, as its root token. */
async function ask({ url, token }: Installation, path: string, init: { method?: string; json?: unknown } = {}) {
  const response = await fetch(url + path, {
    method: init.method ?? (init.json === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(init.json !== undefined && { body: JSON.stringify(init.json) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${text}`)
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

const textOf = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined)

/** Starts a new installation, and waits until it answers. */
async function start(folder: string): Promise<{ readonly installation: Installation; readonly child: ChildProcess }> {
  const env = { ...process.env, WHARF_DATA_DIR: folder, WHARF_PORT: '0' }
  const child = spawn(process.execPath, [join(ROOT, 'dist/main.js'), 'start'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the service has ended with ${child.exitCode}`)
    const service = await textOf(join(folder, 'service.json'))
    if (service !== undefined) {
      const { url } = z.looseObject({ url: z.string() }).parse(JSON.parse(service))
      const token = (await readFile(join(folder, 'root-token'), 'utf8')).trim()
      const answers = await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (answers) return { installation: { url, token, folder }, child }
    }
    await pause(100)
  }
}

/** Makes an archive by a schedule, once for each night that it keeps. @returns the id of the schedule. */
async function makeArchives(installation: Installation): Promise<string> {
  const { id } = withId.parse(
    await ask(installation, '/schedules', {
      json: {
        name: 'nightly',
        kind: 'export',
        cron: '30 2 * * *',
        timezone: 'Europe/Berlin',
        request: { projects: [{ slug: 'demo' }] },
        keep: { last: KEPT },
        verify: true,
      },
    }),
  )
  for (let made = 1; made <= KEPT; made += 1) {
    await ask(installation, `/schedules/${id}/run`, { method: 'POST' })
    for (;;) {
      const seen = runs.parse(await ask(installation, `/schedules/${id}`)).runs
      if (seen.filter(({ provenAt }) => provenAt !== null).length === made) break
      await pause(200)
    }
  }
  return id
}

/** Makes a project whose last archive is too old, and one that no schedule exports. */
async function makeOthers(installation: Installation): Promise<void> {
  for (const slug of ['billing', 'staging']) await ask(installation, '/projects', { json: { slug } })
  await ask(installation, '/schedules', {
    json: { name: 'billing', kind: 'export', cron: '0 4 * * *', request: { projects: [{ slug: 'billing' }] } },
  })
}

/** Lets these archives be of the last nights, and earlier ones be gone; one night failed. */
const NIGHTS = `
  SET session_replication_role = replica;
  CREATE TEMPORARY TABLE shift AS
    SELECT job_id, due_at - (date_trunc('day', now() - interval '90 minutes') + interval '90 minutes'
                             - make_interval(days => (row_number() OVER (ORDER BY due_at DESC))::int - 1)) AS by
      FROM control.schedule_run;
  UPDATE control.job SET created_at = created_at - by, started_at = started_at - by, finished_at = finished_at - by
    FROM shift WHERE job_id = id;
  UPDATE control.artifact SET created_at = created_at - by, proven_at = proven_at - by
    FROM shift WHERE artifact.job_id = shift.job_id;
  UPDATE control.schedule_run AS run SET due_at = due_at - by, finished_at = finished_at - by, proven_at = proven_at - by
    FROM shift WHERE run.job_id = shift.job_id;
  INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at, proven_at)
  SELECT id, at, CASE WHEN fails THEN 'failed' ELSE 'succeeded' END, at, CASE WHEN NOT fails THEN at END
    FROM control.schedule CROSS JOIN generate_series(1, 26) AS night,
         LATERAL (SELECT date_trunc('day', now() - interval '90 minutes') + interval '90 minutes' - night * interval '1 day' AS at,
                         night = 17 OR name = 'billing' AND night < 3 AS fails) AS made
   WHERE name = 'billing' OR night >= ${KEPT};
  UPDATE control.schedule SET created_at = created_at - interval '27 days';
  UPDATE control.schedule SET overdue_since = now() - interval '31 hours', max_age_hours = 30 WHERE name = 'billing';`

async function moveNights({ folder }: Installation): Promise<void> {
  const postmaster = await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')
  const { superuserPassword } = z
    .looseObject({ superuserPassword: z.string() })
    .parse(JSON.parse(await readFile(join(folder, 'postgres.json'), 'utf8')))
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(postmaster.split('\n')[3]),
    user: 'postgres',
    password: superuserPassword,
    database: 'wharf',
  })
  await client.connect()
  await client.query(NIGHTS)
  await client.end()
}

/** Each picture: its file, the size and scheme of the screen, what is opened, and what it shows once it is there. */
const pictures = (job: string) =>
  [
    ['overview-1280-light.png', 1280, 570, 'light', '/', 'Last proven'],
    ['restore-1280-light.png', 1280, 880, 'light', `/restore/${job}/demo`, 'In the archive'],
    ['stage-1280-dark.png', 1280, 880, 'dark', '/data/demo/live', 'table, 60 rows'],
    ['overview-400-dark.png', 400, 800, 'dark', '/', 'Last proven'],
  ] as const

async function draw(page: Page, { url, token }: Installation, job: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  for (const [file, width, height, colorScheme, path, shows] of pictures(job)) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme })
    await page.goto(`${url}/#${path}`)
    await page.getByRole('main').getByText(shows).first().waitFor()
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: join(PICTURES, file) })
  }
}

const folder = await mkdtemp(join(tmpdir(), 'wharf-screenshots-'))
// Where the service is started as root, its PostgreSQL is another user's.
await chmod(folder, 0o755)
const { installation, child } = await start(join(folder, 'wharf'))
const browser = await startChromium()
try {
  const schedule = await makeArchives(installation)
  await makeOthers(installation)
  await moveNights(installation)
  // What somebody would want to take back.
  await ask(installation, '/content/demo/live/port_call?id=not.is.null', { method: 'DELETE' })
  const [, yesterday] = runs.parse(await ask(installation, `/schedules/${schedule}`)).runs
  if (!yesterday?.jobId) throw new Error('the schedule has not run')
  await draw(await browser.context.newPage(), installation, yesterday.jobId)
} finally {
  await browser.close()
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
  await rm(folder, { recursive: true, force: true })
}
