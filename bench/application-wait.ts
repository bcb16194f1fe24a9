import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { createCommands } from './support/commands.ts'
import { printTable } from './support/print-table.ts'
import { median, quantile } from './support/statistics.ts'
import { exportToFile } from './support/wharf-client.ts'
import { whileRepeated } from './support/while-repeated.ts'

const REPEATS = 5
const SECONDS = 4

/** An application with so many connections, each of which asks for a row by its key so often. */
const CLIENTS = 4
const PAUSE_MS = 5
const ROWS = 10_000

/** What an export may send at most where it is not to be noticed, in bytes of lines in a second. */
const PACE = 20_000_000
const SLOWED = `an export of ${PACE / 1_000_000} MB/s`

const CREATE_TABLE = `
  CREATE SCHEMA application;
  CREATE TABLE application.customer AS
    SELECT id, md5(id::text) AS name FROM generate_series(1, ${ROWS}) id;
  ALTER TABLE application.customer ADD PRIMARY KEY (id);
  ANALYZE application.customer`

/**
 * Measures how long queries of an application's own take on the server whose rows are exported: while nothing else happens, beside an
 * export with as many sessions as it takes by itself, beside one that is slowed down, and beside `pg_dump` of the same rows.
 */
export async function measureApplicationWait(bench: BenchRun): Promise<Measurement[]> {
  const { dumpGzip, jsonGzip } = createCommands(bench.postgres, bench.table.schemaName)
  const path = join(bench.outputDir, 'application')
  const beside = dumpGzip ? 'pg_dump | gzip -1' : 'COPY as JSON | gzip -1'
  const clients = await openClients(bench.postgres.superuserUrl)
  try {
    return await bench.withService(async (service) => {
      const loads: readonly (readonly [name: string, run: () => Promise<void>])[] = [
        ['nothing', () => sleep(100)],
        ['an export', () => exportToFile(service, 'gzip', path)],
        [SLOWED, () => exportToFile(service, 'gzip', path, { maxBytesPerSecond: PACE })],
        [beside, () => (dumpGzip ?? jsonGzip)(path)],
      ]
      const taken = new Map<string, Waits[]>(loads.map(([name]) => [name, []]))
      for (let round = 0; round <= REPEATS; round += 1) {
        for (const [name, load] of loads) {
          const waits = await whileRepeated(load, () => askForRows(clients))
          // The first round warms all of it up.
          if (round > 0) taken.get(name)?.push(waits)
        }
      }
      return report(taken, beside)
    })
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

async function openClients(connectionString: string): Promise<readonly pg.Client[]> {
  const clients = Array.from({ length: CLIENTS }, () => new pg.Client({ connectionString }))
  await Promise.all(clients.map((client) => client.connect()))
  await clients[0]?.query(CREATE_TABLE)
  return clients
}

interface Waits {
  readonly medianMs: number
  readonly p99Ms: number
}

/** Lets all clients ask for some seconds. */
async function askForRows(clients: readonly pg.Client[]): Promise<Waits> {
  const until = performance.now() + 1000 * SECONDS
  const waits: number[] = []
  const ask = async (client: pg.Client): Promise<void> => {
    for (let id = 1; performance.now() < until; id = (id * 7919) % ROWS) {
      const askedAt = performance.now()
      await client.query({ name: 'by key', text: 'SELECT name FROM application.customer WHERE id = $1', values: [id] })
      waits.push(performance.now() - askedAt)
      await sleep(PAUSE_MS)
    }
  }
  await Promise.all(clients.map(ask))
  return { medianMs: median(waits), p99Ms: quantile(waits, 0.99) }
}

function report(taken: ReadonlyMap<string, readonly Waits[]>, beside: string): Measurement[] {
  const of = (name: string): Waits => {
    const all = taken.get(name) ?? []
    return { medianMs: median(all.map(({ medianMs }) => medianMs)), p99Ms: median(all.map(({ p99Ms }) => p99Ms)) }
  }
  printTable(
    [`an application's queries beside`, 'median ms', 'p99 ms'],
    [...taken.keys()].map((name) => [name, of(name).medianMs.toFixed(2), of(name).p99Ms.toFixed(2)]),
  )
  const compare = (
    name: string,
    { sentence, maxRatio }: { readonly sentence: string; readonly maxRatio: number },
  ): Measurement => {
    const ratio = of(name).p99Ms / of(beside).p99Ms
    return { sentence, measured: `${ratio.toFixed(2)} times`, holds: ratio <= maxRatio }
  }
  return [compare('an export', BOUNDS.applicationWait), compare(SLOWED, BOUNDS.applicationWaitSlowed)]
}
