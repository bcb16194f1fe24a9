import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { request } from 'undici'
import { z } from 'zod'
import { loadConfig } from '../src/config.ts'
import { type Container, createContainer } from '../src/container.ts'
import { readStatus } from '../src/doctor/read-status.ts'
import { logStages } from '../src/events/log-stages.ts'
import { shortenLogs } from '../src/events/shorten-logs.ts'
import { sweepJobs } from '../src/jobs/sweep.ts'
import { createLifecycle } from '../src/lifecycle.ts'
import { createLogger } from '../src/logger.ts'
import { sweepShadowSchemas } from '../src/transfer/import/shadow-schemas.ts'
import { sweepScratchProjects } from '../src/workers/scratch-projects.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import { type BenchService, startService } from './support/start-service.ts'
import { timeOf } from './support/statistics.ts'
import { useForAYear, type YearOfUse } from './support/year-of-use.ts'

const YEAR: YearOfUse = {
  projects: 50,
  schedules: 200,
  jobs: 100_000,
  archives: 10_000,
  runs: 73_000,
  events: 10_000_000,
}

const REPEATS = 5

/** How many pages of jobs are leafed through. */
const PAGES = 20

const identified = z.object({ id: z.string() })

/** Measures what an installation does again and again, after a year of use. @param share of that year's records. */
export async function measureYear(bench: BenchRun, share = 1): Promise<Measurement[]> {
  const year: YearOfUse = {
    ...YEAR,
    jobs: YEAR.jobs * share,
    archives: YEAR.archives * share,
    runs: YEAR.runs * share,
    events: YEAR.events * share,
  }
  const schedules = await bench.withService((service) => prepareYear(service, year))
  const taken = new Map<string, number>()
  const measure = async (what: string, use: () => Promise<unknown>): Promise<void> => {
    for (let round = 0; round < REPEATS; round += 1) {
      const seconds = await timeOf(async () => void (await use()))
      taken.set(what, Math.max(taken.get(what) ?? 0, seconds))
    }
  }
  const startBefore = await slowestStart(bench)
  const client = new pg.Client({ connectionString: bench.postgres.superuserUrl })
  await client.connect()
  await useForAYear(client, year, { folder: join(bench.dataDir, 'artifacts'), slug: slugOfYear(0) })
  await client.end()

  taken.set('a start', await slowestStart(bench))
  await bench.withService(async (service) => {
    for (const path of pathsOf(schedules))
      await measure(`GET ${path.replaceAll(/[\da-f-]{36}/g, '{id}')}`, () => read(service, path))
    await leafThrough(service, (use) => measure('GET /jobs?after={id}', use))
  })
  await withContainer(bench, async (container) => {
    const { control, config, jobTimings, logger } = container
    await measure('a sweep of jobs', () => sweepJobs(container, jobTimings))
    await measure('a sweep of projects', async () => {
      await logStages(container)
      await sweepShadowSchemas(container, logger)
      await sweepScratchProjects(container)
    })
    await measure('a sweep of event logs', () => shortenLogs(container, { days: 365, events: 2 * YEAR.events }))
    await measure('wharf status', () => readStatus(control, config, '0.0.0'))
  })
  console.log(`A start without these records: ${(1000 * startBefore).toFixed(0)} ms\n`)
  return report(year, taken)
}

function report(year: YearOfUse, taken: ReadonlyMap<string, number>): Measurement[] {
  const { projects, schedules, jobs, archives, runs, events } = year
  const figures = { projects, schedules, jobs, archives, runs, events }
  console.log(
    Object.entries(figures)
      .map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
      .join(', '),
    '\n',
  )
  printTable(
    [`the slowest of ${REPEATS}`, 'ms'],
    [...taken].map(([what, seconds]) => [what, (1000 * seconds).toFixed(0)]),
  )
  const [slowest = ['nothing', Number.NaN]] = [...taken].toSorted(([, left], [, right]) => right - left)
  const { sentence, maxSeconds } = BOUNDS.year
  return [{ sentence, measured: `${slowest[1].toFixed(2)} s: ${slowest[0]}`, holds: slowest[1] <= maxSeconds }]
}

/** The slug of a project of these. */
export const slugOfYear = (n: number): string => `year-${n}`

/** Makes the projects and schedules, and an export that has succeeded. @returns the ids of the schedules. */
export async function prepareYear(
  service: BenchService,
  { projects, schedules }: Pick<YearOfUse, 'projects' | 'schedules'>,
): Promise<string[]> {
  for (let n = 0; n < projects; n += 1) {
    await post(service, '/projects', { slug: slugOfYear(n) })
    const sql =
      'CREATE TABLE item (id int PRIMARY KEY, name text, price int); INSERT INTO item SELECT n, md5(n::text), n FROM generate_series(1, 100) n'
    await send(service, `/projects/${slugOfYear(n)}/stages/live/schema`, 'application/sql', sql)
  }
  const ids: string[] = []
  for (let n = 0; n < schedules; n += 1) {
    const made = await post(service, '/schedules', {
      ...{ name: `nightly-${n}`, cron: '0 3 29 2 *', kind: 'export', keep: { last: 50 } },
      request: { projects: [{ slug: slugOfYear(n % projects) }] },
    })
    ids.push(identified.parse(made).id)
  }
  await send(service, '/export', 'application/json', JSON.stringify({ projects: [{ slug: slugOfYear(0) }] }), {
    prefer: 'respond-async',
  })
  while (!pageSchema.parse(await read(service, '/jobs?status=succeeded')).items.length) await sleep(100)
  return ids
}

const pathsOf = ([schedule = '']: readonly string[]): readonly string[] => [
  '/jobs',
  '/jobs?limit=100',
  '/jobs?status=failed',
  '/jobs?status=queued',
  '/jobs?kind=import',
  `/jobs?project=${slugOfYear(7)}`,
  `/jobs?schedule=${schedule}`,
  '/schedules',
  '/schedules?limit=100',
  `/schedules/${schedule}`,
  '/projects',
  `/projects/${slugOfYear(0)}`,
  '/tokens',
  '/metrics',
  '/readyz',
  `/content/${slugOfYear(0)}/live`,
  `/content/${slugOfYear(0)}/live/item?limit=20`,
]

const pageSchema = z.object({ items: z.array(identified), next: z.string().nullable() })

async function leafThrough(
  service: BenchService,
  measure: (use: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  let after: string | null = ''
  for (let page = 0; page < PAGES && after !== null; page += 1) {
    const path: string = `/jobs?limit=200${after && `&after=${after}`}`
    await measure(() => read(service, path))
    after = pageSchema.parse(await read(service, path)).next
  }
}

/** @returns how long the slowest start takes until the service listens, in seconds. */
async function slowestStart({ postgres, dataDir }: BenchRun): Promise<number> {
  const seconds: number[] = []
  for (let round = 0; round < REPEATS; round += 1) {
    const services: BenchService[] = []
    seconds.push(
      await timeOf(async () => void services.push(await startService({ databaseUrl: postgres.url, dataDir }))),
    )
    for (const service of services) await service.stop()
  }
  return Math.max(...seconds)
}

async function withContainer(bench: BenchRun, use: (container: Container) => Promise<void>): Promise<void> {
  const logger = createLogger('warn')
  const lifecycle = createLifecycle(logger)
  const config = loadConfig({ WHARF_DATA_DIR: bench.dataDir })
  try {
    await use(await createContainer({ config, databaseUrl: bench.postgres.url, version: '0.0.0', logger, lifecycle }))
  } finally {
    await lifecycle.close()
  }
}

async function read({ url, headers }: BenchService, path: string): Promise<unknown> {
  const answer = await request(url + path, { headers })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`GET ${path} answered ${answer.statusCode}: ${text}`)
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
}

const post = async (service: BenchService, path: string, body: object): Promise<unknown> =>
  JSON.parse(await send(service, path, 'application/json', JSON.stringify(body)))

async function send(
  { url, headers }: BenchService,
  path: string,
  contentType: string,
  body: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await request(url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': contentType, ...more },
    body,
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`POST ${path} answered ${answer.statusCode}: ${text}`)
  return text
}
