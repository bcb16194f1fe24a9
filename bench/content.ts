import autocannon from 'autocannon'
import { request } from 'undici'
import { BOUNDS, type Measurement } from './bounds.ts'
import { startBareHandler } from './support/bare-handler.ts'
import { startBareReader } from './support/bare-reader.ts'
import type { BenchRun } from './support/bench-run.ts'
import { CONNECTIONS, type Figures, fire } from './support/fire.ts'
import { printTable } from './support/print-table.ts'
import { SAMPLE_TABLE } from './support/sample-table.ts'
import type { BenchService } from './support/start-service.ts'
import { median } from './support/statistics.ts'
import { createToken, PROJECT } from './support/wharf-client.ts'

const REPEATS = 5
const SECONDS = 4
const PAGE_ROWS = 20

interface Pair {
  readonly wharf: Figures
  readonly bare: Figures
}

/**
 * Measures the content endpoint beside a bare Express handler that answers the same bytes: when nothing has changed, and
 * when the answer is known; and beside one that runs the same statement, when it is not. As the service is by default: with a token, request ids, security headers and access log.
 */
export async function measureContent(bench: BenchRun, rows: number): Promise<Measurement[]> {
  return bench.withService(
    async (service) => {
      const headers = { authorization: `Bearer ${await createToken(service, 'viewer')}` }
      const url = `${service.url}/content/${PROJECT}/live/${SAMPLE_TABLE}?order=id&limit=${PAGE_ROWS}`
      const { headers: answered } = await request(url, { headers })
      const unchanged = await inTurns(url, { ...headers, 'x-service-ref': String(answered['x-service-ref']) }, 304)
      const cached = await inTurns(url, headers, 200)
      const newPages = await newInTurns(bench, service, headers, page(rows))
      const newRows = await newInTurns(bench, service, headers, single(rows))
      return report({ unchanged, cached, newPages, newRows })
    },
    { logLevel: 'info' },
  )
}

/** Both take turns on the same machine, so that what else it does is shared fairly. */
async function inTurns(url: string, headers: Readonly<Record<string, string>>, status: number): Promise<Pair> {
  const bare = await startBareHandler(url, headers)
  if (bare.status !== status) throw new Error(`${bare.status}, and not ${status}, is the answer`)
  try {
    return await repeatBoth({ wharf: () => fire(url, headers, SECONDS), bare: () => fire(bare.url, headers, SECONDS) })
  } finally {
    await bare.stop()
  }
}

async function repeatBoth(fires: Readonly<Record<keyof Pair, () => Promise<Figures>>>): Promise<Pair> {
  const figures: { wharf: Figures[]; bare: Figures[] } = { wharf: [], bare: [] }
  for (let round = 0; round <= REPEATS; round += 1) {
    const pair = { wharf: await fires.wharf(), bare: await fires.bare() }
    // The first warms both up.
    if (round === 0) continue
    figures.wharf.push(pair.wharf)
    figures.bare.push(pair.bare)
  }
  return { wharf: middle(figures.wharf), bare: middle(figures.bare) }
}

const middle = (figures: readonly Figures[]): Figures => ({
  perSecond: median(figures.map(({ perSecond }) => perSecond)),
  p99Ms: median(figures.map(({ p99Ms }) => p99Ms)),
})

/**
 * Pages that nobody has asked for before, in turns with a bare Express handler that runs the same prepared statement through
 * `pg`.
 *
 * @param query of the `next`th page, whose filters are the same for all.
 */
async function newInTurns(
  bench: BenchRun,
  wharf: BenchService,
  headers: Readonly<Record<string, string>>,
  query: (next: number) => Query,
): Promise<Pair> {
  const bare = await startBareReader(bench, query(0))
  let next = 0
  const path = (): string => {
    next += 1
    return `/content/${PROJECT}/live/${SAMPLE_TABLE}?${new URLSearchParams(query(next).map(([name, value]): [string, string] => [name, value]))}`
  }
  const fireNew = async (url: string): Promise<Figures> => {
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
  try {
    return await repeatBoth({ wharf: () => fireNew(wharf.url), bare: () => fireNew(bare.url) })
  } finally {
    await bare.stop()
  }
}

type Way = 'unchanged' | 'cached' | 'newPages' | 'newRows'

type Query = readonly (readonly [name: string, value: string])[]

/** The second filter lets every row through, and makes each query another one. */
const page =
  (rows: number) =>
  (next: number): Query => [
    ['order', 'id'],
    ['limit', String(PAGE_ROWS)],
    ['id', `gte.${(next * 7) % rows}`],
    ['price', `gte.${next}e-9`],
  ]

const single =
  (rows: number) =>
  (next: number): Query => [
    ['id', `eq.${1 + ((next * 7) % rows)}`],
    ['price', `gte.${next}e-9`],
  ]

function report({ unchanged, cached, newPages, newRows }: Readonly<Record<Way, Pair>>): Measurement[] {
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
      line(`new 200, ${PAGE_ROWS} rows`, newPages.wharf),
      line('the same, bare Express with pg', newPages.bare),
      line('new 200, a row by its key', newRows.wharf),
      line('the same, bare Express with pg', newRows.bare),
    ],
  )
  const share = ({ wharf, bare }: Pair): number => wharf.perSecond / bare.perSecond
  const delayOf = (...pairs: readonly Pair[]): number =>
    Math.max(...pairs.map(({ wharf, bare }) => wharf.p99Ms / bare.p99Ms))
  const rate = (
    { sentence, minRatio }: { readonly sentence: string; readonly minRatio: number },
    pair: Pair,
  ): Measurement => ({
    ...measurement(sentence, share(pair)),
    holds: share(pair) >= minRatio,
  })
  const wait = (
    { sentence, maxRatio }: { readonly sentence: string; readonly maxRatio: number },
    delay: number,
  ): Measurement => ({
    ...measurement(sentence, delay),
    holds: delay < maxRatio,
  })
  return [
    rate(BOUNDS.unchanged, unchanged),
    rate(BOUNDS.cached, cached),
    wait(BOUNDS.contentDelay, delayOf(unchanged, cached)),
    rate(BOUNDS.newPages, newPages),
    rate(BOUNDS.newRows, newRows),
    wait(BOUNDS.newDelay, delayOf(newPages, newRows)),
  ]
}

const measurement = (sentence: string, ratio: number) => ({ sentence, measured: ratio.toFixed(2) })
