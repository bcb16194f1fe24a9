import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { createCommands } from './support/commands.ts'
import { measureInTurns, ratiosTo, type Way, type WayResult } from './support/in-turns.ts'
import { printTable } from './support/print-table.ts'
import { median } from './support/statistics.ts'
import { exportToFile } from './support/wharf-client.ts'

const REPEATS = 5

/** Measures the export of a table beside other ways to get its rows. */
export async function measureExportTime(bench: BenchRun, rows: number): Promise<Measurement[]> {
  const { jsonGzip, json, text, dumpGzip } = createCommands(bench.postgres, bench.table.schemaName)
  const program = bench.postgres.programs ? 'psql' : 'pg-copy-streams'
  const path = join(bench.outputDir, 'result')
  const way = (name: string, run: (path: string) => Promise<void>): Way => ({
    name,
    run: () => run(path),
    bytes: async () => (await stat(path)).size,
  })
  return bench.withService(async (service) => {
    const reference = way(`COPY as JSON (${program}) | gzip -1`, jsonGzip)
    const wharf = way('Wharf, gzip', (to) => exportToFile(service, 'gzip', to))
    const plain = way('Wharf, plain', (to) => exportToFile(service, 'plain', to))
    const copyText = way(`COPY as text (${program})`, text)
    const ways: Way[] = [
      reference,
      wharf,
      way(`COPY as JSON (${program})`, json),
      plain,
      copyText,
      ...(dumpGzip ? [way('pg_dump --data-only | gzip -1', dumpGzip)] : []),
    ]
    const results = await measureInTurns(ways, REPEATS)
    return report(results, { reference, wharf, plain, copyText, rows })
  })
}

interface Compared {
  readonly reference: Way
  readonly wharf: Way
  readonly plain: Way
  readonly copyText: Way
  readonly rows: number
}

function report(
  results: ReadonlyMap<Way, WayResult>,
  { reference, wharf, plain, copyText, rows }: Compared,
): Measurement[] {
  const secondsOf = (way: Way): readonly number[] => results.get(way)?.seconds ?? []
  const ratiosOf = (way: Way): number[] => ratiosTo(secondsOf(way), secondsOf(reference))
  console.log(`Export of ${rows.toLocaleString('en')} rows; medians of ${REPEATS} rounds, ratio to the first way\n`)
  printTable(
    ['way', 'seconds', 'rows/s', 'MB/s', 'MB', 'ratio', 'each round'],
    [...results].map(([way, { seconds, bytes }]) => {
      const middle = median(seconds)
      const megabytes = (bytes ?? Number.NaN) / 1e6
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
  const compare = (way: Way, other: Way, { sentence, maxRatio }: TimeBound): Measurement => {
    const ratio = median(ratiosTo(secondsOf(way), secondsOf(other)))
    return { sentence, measured: `${ratio.toFixed(2)} times`, holds: ratio <= maxRatio }
  }
  return [compare(wharf, reference, BOUNDS.exportTime), compare(plain, copyText, BOUNDS.plainExportTime)]
}

interface TimeBound {
  readonly sentence: string
  readonly maxRatio: number
}
