import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { zstd } from '../src/lib/zstd.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { remove } from './support/dump-commands.ts'
import { measureInTurns, ratiosTo, type Way, type WayResult } from './support/in-turns.ts'
import { printTable } from './support/print-table.ts'
import { median } from './support/statistics.ts'
import { exportToFile, importFile } from './support/wharf-client.ts'
import { withSampleDatabase } from './support/with-sample-database.ts'

const REPEATS = 5

/** Compares exports and imports of a database of 61 tables with what PostgreSQL's own programs take for it. */
export const measureDatabase = (
  bench: BenchRun,
  { rows, repeats = REPEATS }: { readonly rows: number | undefined; readonly repeats: number | undefined },
): Promise<Measurement[]> =>
  withSampleDatabase(bench, rows, async ({ service, tables, settleImport, commands }) => {
    const { dumpCustom, dumpFolder, copyText, settle, makeTarget, restoreInOne, restore, dropTarget } = commands
    const path = (name: string): string => join(bench.outputDir, name)
    const [archive, dump, folder] = [path('archive.jsonl.gz'), path('dump'), path('folder')]
    const file = (name: string, to: string, run: (to: string) => Promise<void>): Way => ({
      name,
      prepare: settle,
      run: () => run(to),
      bytes: async () => (await stat(to)).size,
    })
    const ways = {
      gzip: file('Wharf export, gzip', archive, (to) => exportToFile(service, 'gzip', to)),
      custom: file('pg_dump -Fc -Z1', dump, dumpCustom),
      folder: {
        name: 'pg_dump -Fd -j2 -Z1',
        prepare: () => settle().then(() => remove(folder)),
        run: () => dumpFolder(folder, 2),
      },
      plain: file('Wharf export, plain', path('archive.jsonl'), (to) => exportToFile(service, 'plain', to)),
      text: file('COPY as text of all tables (psql)', path('tables.txt'), copyText),
      import: {
        name: 'Wharf import',
        prepare: settle,
        run: () => importFile(service, archive),
        settle: settleImport,
      },
      inOne: { name: 'pg_restore -1', prepare: makeTarget, run: () => restoreInOne(dump), settle: dropTarget },
      inTwo: { name: 'pg_restore -j2', prepare: makeTarget, run: () => restore(dump, 2), settle: dropTarget },
    } satisfies Record<string, Way>
    const zstdWay = file('Wharf export, zstd', path('archive.jsonl.zst'), (to) => exportToFile(service, 'zstd', to))
    const results = await measureInTurns([...Object.values(ways), ...(zstd ? [zstdWay] : [])], repeats)
    const all = tables.reduce((sum, each) => sum + each.rows, 0)
    console.log(
      `A database of ${tables.length} tables with ${all.toLocaleString('en')} rows; medians of ${repeats} repeats\n`,
    )
    printResults(results)
    const compare = (way: Way, reference: Way, { sentence, maxRatio }: Bound): Measurement => {
      const ratio = median(ratiosTo(secondsOf(results, way), secondsOf(results, reference)))
      return { sentence, measured: `${ratio.toFixed(2)} times`, holds: ratio <= maxRatio }
    }
    return [
      compare(ways.gzip, ways.custom, BOUNDS.databaseGzip),
      ...(zstd ? [compare(zstdWay, ways.custom, BOUNDS.databaseZstd)] : []),
      compare(ways.plain, ways.text, BOUNDS.databasePlain),
      compare(ways.import, ways.inOne, BOUNDS.databaseImport),
      compare(ways.import, ways.inTwo, BOUNDS.databaseParallelImport),
    ]
  })

interface Bound {
  readonly sentence: string
  readonly maxRatio: number
}

type Results = ReadonlyMap<Way, WayResult>

const secondsOf = (results: Results, way: Way): readonly number[] => results.get(way)?.seconds ?? []

function printResults(results: Results): void {
  printTable(
    ['way', 'seconds', 'MB', 'each round'],
    [...results].map(([{ name }, { seconds, bytes }]) => [
      name,
      median(seconds).toFixed(2),
      bytes === undefined ? '' : (bytes / 1e6).toFixed(0),
      seconds.map((each) => each.toFixed(2)).join(' '),
    ]),
  )
}
