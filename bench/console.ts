import { join } from 'node:path'
import pg from 'pg'
import type { Page } from 'playwright-core'
import { type Browser, startChromium } from '../test/support/servers/chromium.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import type { BenchService } from './support/start-service.ts'
import { PROJECT } from './support/wharf-client.ts'
import { useForAYear, type YearOfUse } from './support/year-of-use.ts'
import { prepareYear, slugOfYear } from './year.ts'

const USED: YearOfUse = {
  projects: 1_000,
  schedules: 200,
  jobs: 10_000,
  archives: 1_000,
  runs: 6_000,
  events: 100_000,
}

const ROWS = 1_000_000

const REPEATS = 3

/** A phone of some years ago on a bad connection, as Lighthouse has it: a quarter of the speed, 1.6 Mbit/s, 150 ms. */
const PHONE = {
  cpuRate: 4,
  network: { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 },
} as const

/** Measures the console in Chromium: the first view on a slow phone, and each view over many records. */
export async function measureConsole(bench: BenchRun, share = 1): Promise<Measurement[]> {
  const used: YearOfUse = {
    projects: USED.projects * share,
    schedules: USED.schedules * share,
    jobs: USED.jobs * share,
    archives: USED.archives * share,
    runs: USED.runs * share,
    events: USED.events * share,
  }
  const schedules = await bench.withService((service) => prepareYear(service, used))
  await bench.table.fill(ROWS * share)
  const client = new pg.Client({ connectionString: bench.postgres.superuserUrl })
  await client.connect()
  await useForAYear(client, used, { folder: join(bench.dataDir, 'artifacts'), slug: slugOfYear(0) })
  await client.end()
  const browser = await startChromium()
  try {
    return await bench.withService(async (service) => [
      ...(await measureFirstView(browser, service)),
      await measureViews(browser, service, schedules),
    ])
  } finally {
    await browser.close()
  }
}

interface FirstView {
  /** When the first text is painted, and when the whole form is. */
  readonly paintMs: number
  readonly formMs: number
  readonly bytes: number
  readonly longestTaskMs: number
}

/** For how long the page is watched once its form is there: what is behind the sign-in is loaded meanwhile. */
const WATCHED_MS = 2_000

/** Notes what blocks the page, and when its form has been painted. */
const WATCH = `
  window.longTasks = []
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask', buffered: true })
  window.watched = new Promise((resolve) => {
    const look = () => {
      if (!document.getElementById('token')) return requestAnimationFrame(look)
      // Behind the frame that is drawn now.
      setTimeout(() => {
        window.formMs = performance.now()
        setTimeout(resolve, ${WATCHED_MS})
      })
    }
    requestAnimationFrame(look)
  })`

/** What the browser itself has measured, of this page and all that it has fetched. */
const FIGURES = `watched.then(() => ({
  paintMs: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  formMs,
  bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, { transferSize }) => sum + transferSize, 0),
  longestTaskMs: Math.max(0, ...longTasks),
}))`

/** Asks for nothing by Playwright, whose own scripts would be among what blocks the page. */
async function openOnPhone(page: Page, url: string): Promise<FirstView> {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.enable')
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  await session.send('Network.emulateNetworkConditions', PHONE.network)
  await session.send('Emulation.setCPUThrottlingRate', { rate: PHONE.cpuRate })
  await session.send('Page.addScriptToEvaluateOnNewDocument', { source: WATCH })
  await session.send('Page.navigate', { url })
  const { result } = await session.send('Runtime.evaluate', {
    expression: FIGURES,
    awaitPromise: true,
    returnByValue: true,
  })
  return result.value
}

async function measureFirstView(browser: Browser, service: BenchService): Promise<Measurement[]> {
  // The browser is one that has been used: its own start is no part of the view.
  const other = await browser.context.newPage()
  await other.goto(`${service.url}/docs`)
  await other.close()
  const views: FirstView[] = []
  for (let round = 0; round < REPEATS; round += 1) {
    const page = await browser.context.newPage()
    views.push(await openOnPhone(page, service.url))
    await page.close()
  }
  const worst = (of: (view: FirstView) => number): number => Math.max(...views.map(of))
  const [paintMs, formMs, bytes, taskMs] = [
    worst((view) => view.paintMs),
    worst((view) => view.formMs),
    worst((view) => view.bytes),
    worst((view) => view.longestTaskMs),
  ]
  return [
    {
      sentence: BOUNDS.consolePaint.sentence,
      measured: `${formMs.toFixed(0)} ms; the first text after ${paintMs.toFixed(0)} ms`,
      holds: formMs <= BOUNDS.consolePaint.maxMs,
    },
    {
      sentence: BOUNDS.consoleBytes.sentence,
      measured: `${(bytes / 1_000).toFixed(1)} kB`,
      holds: bytes > 0 && bytes <= BOUNDS.consoleBytes.maxBytes,
    },
    {
      sentence: BOUNDS.consoleTasks.sentence,
      measured: `${taskMs.toFixed(0)} ms`,
      holds: taskMs <= BOUNDS.consoleTasks.maxMs,
    },
  ]
}

/** Each view with what it shows once it is there. */
const viewsOf = (schedule: string): readonly (readonly [string, string, string])[] => [
  ['overview', '/', '.project'],
  ['jobs', '/jobs', '.jobs li'],
  ['schedules', '/schedules', 'main .card'],
  ['schedule', `/schedules/${schedule}`, 'main table td'],
  ['data', '/data', '.rows li'],
  ['stage', `/data/${PROJECT}/live`, '.tables section'],
  ['rows', `/data/${PROJECT}/live/entry`, 'main td .value'],
  ['event log', `/log/${slugOfYear(0)}/live`, '.log li'],
  ['transfer', '/transfer', '#from option:nth-child(2)'],
  ['people', '/people', 'form[aria-label="New token"]'],
  ['new schedule', '/schedules/new', '#project option:nth-child(3)'],
  ['notifications', '/notifications', 'form'],
  ['server', '/server', 'main table td'],
]

async function measureViews(browser: Browser, service: BenchService, [schedule = '']: readonly string[]) {
  const page = await browser.context.newPage()
  await page.goto(service.url)
  await page.getByLabel('Token').fill(String(service.headers.authorization).replace('Bearer ', ''))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.project').first().waitFor()
  const taken: (readonly [string, number])[] = []
  for (const [name, path, shows] of viewsOf(schedule)) {
    let worst = 0
    for (let round = 0; round < REPEATS; round += 1) {
      await leave(page, path)
      worst = Math.max(worst, await timeToSee(page, path, shows))
    }
    taken.push([name, worst])
  }
  await page.close()
  printTable(
    [`the slowest of ${REPEATS}`, 'ms'],
    taken.map(([name, ms]) => [name, ms.toFixed(0)]),
  )
  const [slowest = ['nothing', Number.NaN] as const] = taken.toSorted(([, left], [, right]) => right - left)
  const { sentence, maxMs } = BOUNDS.consoleViews
  return { sentence, measured: `${slowest[1].toFixed(0)} ms: ${slowest[0]}`, holds: slowest[1] <= maxMs }
}

/** Opens another view than the one that is measured next. */
async function leave(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(path === '/import' ? '/' : '/import')}`)
  await page.locator('#file').waitFor()
}

/** A view that does not come at all is a mistake of the measurement. */
const GIVE_UP_MS = 60_000

/** How long it takes from the click until something is drawn, by the clock of the page. */
const timeToSee = (page: Page, path: string, shows: string): Promise<number> =>
  page.evaluate<number>(`new Promise((resolve, reject) => {
    const begunMs = performance.now()
    const look = () => {
      if (document.querySelector(${JSON.stringify(shows)})) resolve(performance.now() - begunMs)
      else if (performance.now() - begunMs > ${GIVE_UP_MS}) reject(new Error(${JSON.stringify(`${path} shows no ${shows}`)}))
      else requestAnimationFrame(look)
    }
    location.hash = ${JSON.stringify(path)}
    look()
  })`)
