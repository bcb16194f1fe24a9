import autocannon from 'autocannon'
import pg from 'pg'
import { request } from 'undici'
import { z } from 'zod'
import { BOUNDS, type Measurement } from './bounds.ts'
import { startBareHandler } from './support/bare-handler.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import { SAMPLE_TABLE } from './support/sample-table.ts'
import type { BenchService } from './support/start-service.ts'
import { median } from './support/statistics.ts'
import { createToken, PROJECT } from './support/wharf-client.ts'

const REPEATS = 5
const SECONDS = 4
const CONNECTIONS = 50
const PAGE_ROWS = 20

interface Figures {
  readonly perSecond: number
  readonly p99Ms: number
}

interface Pair {
  readonly wharf: Figures
  readonly bare: Figures
}

/**
 * Measures the content endpoint beside a bare Express handler that answers the same bytes: when nothing has changed, and
 * when the answer is known. As the service is by default: with a token, request ids, security headers and access log.
 */
export async function measureContent(bench: BenchRun, rows: number): Promise<Measurement[]> {
  return bench.withService(
    async (service) => {
      const headers = { authorization: `Bearer ${await createToken(service, 'viewer')}` }
      const url = `${service.url}/content/${PROJECT}/live/${SAMPLE_TABLE}?order=id&limit=${PAGE_ROWS}`
      const { headers: answered } = await request(url, { headers })
      const unchanged = await inTurns(url, { ...headers, 'x-service-ref': String(answered['x-service-ref']) }, 304)
      const cached = await inTurns(url, headers, 200)
      const uncached = await load(service, headers, rows)
      const direct = await loadDirectly(bench, rows)
      return report({ unchanged, cached, uncached, direct })
    },
    { logLevel: 'info' },
  )
}

/** Both take turns on the same machine, so that what else it does is shared fairly. */
async function inTurns(url: string, headers: Readonly<Record<string, string>>, status: number): Promise<Pair> {
  const bare = await startBareHandler(url, headers)
  if (bare.status !== status) throw new Error(`${bare.status}, and not ${status}, is the answer`)
  const figures: { wharf: Figures[]; bare: Figures[] } = { wharf: [], bare: [] }
  try {
    for (let round = 0; round <= REPEATS; round += 1) {
      const pair = { wharf: await fire(url, headers), bare: await fire(bare.url, headers) }
      // The first warms both up.
      if (round === 0) continue
      figures.wharf.push(pair.wharf)
      figures.bare.push(pair.bare)
    }
  } finally {
    await bare.stop()
  }
  return { wharf: middle(figures.wharf), bare: middle(figures.bare) }
}

const middle = (figures: readonly Figures[]): Figures => ({
  perSecond: median(figures.map(({ perSecond }) => perSecond)),
  p99Ms: median(figures.map(({ p99Ms }) => p99Ms)),
})

async function fire(url: string, headers: Readonly<Record<string, string>>): Promise<Figures> {
  const result = await autocannon({ url, headers: { ...headers }, connections: CONNECTIONS, duration: SECONDS })
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`)
  return { perSecond: result.requests.average, p99Ms: result.latency.p99 }
}

/** Pages that nobody has asked for before. */
async function load({ url }: BenchService, headers: Readonly<Record<string, string>>, rows: number): Promise<Figures> {
  let next = 0
  const path = (): string =>
    `/content/${PROJECT}/live/${SAMPLE_TABLE}?order=id&limit=${PAGE_ROWS}&id=gte.${(next++ * 7) % rows}&price=gte.${next}e-9`
  const result = await autocannon({
    url,
    headers: { ...headers },
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: [{ setupRequest: (asked) => ({ ...asked, path: path() }) }],
  })
  if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx + result.errors} requests failed`)
  return { perSecond: result.requests.average, p99Ms: result.latency.p99 }
}

const resultSchema = z.array(z.object({ body: z.string() })).length(1)

/** The same rows from PostgreSQL itself, over as many connections as a project's login has. */
async function loadDirectly(bench: BenchRun, rows: number): Promise<Figures> {
  const pool = new pg.Pool({ connectionString: bench.postgres.superuserUrl, max: 10 })
  const sql = `SELECT coalesce(json_agg(page), '[]')::text AS body FROM (
    SELECT * FROM "${bench.table.schemaName}".${SAMPLE_TABLE} WHERE id >= $1 AND price >= $2 ORDER BY id LIMIT ${PAGE_ROWS}) AS page`
  const times: number[] = []
  const endsAt = performance.now() + SECONDS * 1000
  let next = 0
  const ask = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now()
      const { rows: found } = await pool.query({ name: 'page', text: sql, values: [(next++ * 7) % rows, next * 1e-9] })
      resultSchema.parse(found)
      times.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, ask))
  await pool.end()
  return {
    perSecond: times.length / SECONDS,
    p99Ms: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN,
  }
}

function report(measured: {
  readonly unchanged: Pair
  readonly cached: Pair
  readonly uncached: Figures
  readonly direct: Figures
}): Measurement[] {
  const { unchanged, cached, uncached, direct } = measured
  const line = (name: string, { perSecond, p99Ms }: Figures): string[] => [
    name,
    Math.round(perSecond).toString(),
    p99Ms.toFixed(0),
  ]
  printTable(
    [`${CONNECTIONS} connections`, 'answers/s', 'p99 ms'],
    [
      line('304', unchanged.wharf),
      line('304, bare Express', unchanged.bare),
      line(`cached 200, ${PAGE_ROWS} rows`, cached.wharf),
      line('the same, bare Express', cached.bare),
      line(`new 200, ${PAGE_ROWS} rows`, uncached),
      line('the same from PostgreSQL', direct),
    ],
  )
  const share = ({ wharf, bare }: Pair): number => wharf.perSecond / bare.perSecond
  const delay = Math.max(...[unchanged, cached].map(({ wharf, bare }) => wharf.p99Ms / bare.p99Ms))
  return [
    {
      ...measurement(BOUNDS.unchanged.sentence, share(unchanged)),
      holds: share(unchanged) >= BOUNDS.unchanged.minRatio,
    },
    { ...measurement(BOUNDS.cached.sentence, share(cached)), holds: share(cached) >= BOUNDS.cached.minRatio },
    { ...measurement(BOUNDS.contentDelay.sentence, delay), holds: delay < BOUNDS.contentDelay.maxRatio },
  ]
}

const measurement = (sentence: string, ratio: number) => ({ sentence, measured: ratio.toFixed(2) })
