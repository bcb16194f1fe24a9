import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { createCommands } from './support/commands.ts'
import { printTable } from './support/print-table.ts'
import { median, timeOf } from './support/statistics.ts'
import { exportToFile } from './support/wharf-client.ts'

/** Each way runs as often, one after the other in turns, so that what else the machine does meets them all alike. */
const REPEATS = 5

interface Way {
  readonly name: string
  run(path: string): Promise<void>
}

/** Measures the export of a table beside other ways to get its rows. */
export async function measureExportTime(bench: BenchRun, rows: number): Promise<Measurement[]> {
  const { jsonGzip, json, text, dumpGzip } = createCommands(bench.postgres, bench.table.schemaName)
  const program = bench.postgres.programs ? 'psql' : 'pg-copy-streams'
  return bench.withService(async (service) => {
    const reference: Way = { name: `COPY as JSON (${program}) | gzip -1`, run: jsonGzip }
    const wharf: Way = { name: 'Wharf, gzip', run: (path) => exportToFile(service, 'gzip', path) }
    const ways: Way[] = [
      reference,
      wharf,
      { name: `COPY as JSON (${program})`, run: json },
      { name: 'Wharf, plain', run: (path) => exportToFile(service, 'plain', path) },
      { name: `COPY as text (${program})`, run: text },
      ...(dumpGzip ? [{ name: 'pg_dump --data-only | gzip -1', run: dumpGzip }] : []),
    ]
    const results = await measureInTurns(ways, bench.outputDir)
    return report(results, { reference, wharf, rows })
  })
}

interface Result {
  readonly seconds: number[]
  bytes: number
}

async function measureInTurns(ways: readonly Way[], outputDir: string): Promise<ReadonlyMap<Way, Result>> {
  const results = new Map(ways.map((way): [Way, Result] => [way, { seconds: [], bytes: 0 }]))
  const path = join(outputDir, 'result')
  // The first round, in which code is compiled and files come to memory, does not count.
  for (let round = 0; round <= REPEATS; round += 1) {
    for (const [way, result] of results) {
      const seconds = await timeOf(() => way.run(path))
      if (round > 0) result.seconds.push(seconds)
      result.bytes = (await stat(path)).size
    }
  }
  return results
}

function report(
  results: ReadonlyMap<Way, Result>,
  { reference, wharf, rows }: { readonly reference: Way; readonly wharf: Way; readonly rows: number },
): Measurement[] {
  const secondsOf = (way: Way): readonly number[] => results.get(way)?.seconds ?? []
  const ratiosOf = (way: Way): number[] =>
    secondsOf(way).map((seconds, round) => seconds / (secondsOf(reference)[round] ?? Number.NaN))
  console.log(`Export of ${rows.toLocaleString('en')} rows; medians of ${REPEATS} rounds, ratio to the first way\n`)
  printTable(
    ['way', 'seconds', 'rows/s', 'MB/s', 'MB', 'ratio', 'each round'],
    [...results].map(([way, { seconds, bytes }]) => {
      const middle = median(seconds)
      const megabytes = bytes / 1e6
      const ratios = ratiosOf(way)
      return [
        way.name,
        middle.toFixed(2),
        Math.round(rows / middle).toLocaleString('en'),
        (megabytes / middle).toFixed(0),
        megabytes.toFixed(0),
        median(ratios).toFixed(2),
        ratios.map((ratio) => ratio.toFixed(2)).join(' '),
      ]
    }),
  )
  const ratio = median(ratiosOf(wharf))
  const { sentence, maxRatio } = BOUNDS.exportTime
  return [{ sentence, measured: `${ratio.toFixed(2)} times`, holds: ratio <= maxRatio }]
}
