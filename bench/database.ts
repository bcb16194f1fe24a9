import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { zstd } from '../src/lib/zstd.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { createDumpCommands, remove } from './support/dump-commands.ts'
import { measureInTurns, ratiosTo, type Way, type WayResult } from './support/in-turns.ts'
import { printTable } from './support/print-table.ts'
import { createIndexes, createTables, fillTables, sampleTables, settle } from './support/sample-database.ts'
import { SAMPLE_TABLE } from './support/sample-table.ts'
import { median } from './support/statistics.ts'
import { applyScript, exportToFile, importFile } from './support/wharf-client.ts'

const DATABASE = 'application'
const REPEATS = 5

/** Compares exports and imports of a database of 61 tables with what PostgreSQL's own programs take for it. */
export async function measureDatabase(
  { postgres, table, outputDir, withService }: BenchRun,
  { rows, repeats = REPEATS }: { readonly rows: number | undefined; readonly repeats: number | undefined },
): Promise<Measurement[]> {
  if (!postgres.programs) throw new Error('the part "database" needs an installed PostgreSQL with its client programs')
  const tables = sampleTables(rows)
  const url = await createDatabase(postgres.superuserUrl)
  await runSql(url, createTables(tables))
  await fillTables(url, 'public', tables)
  await runSql(url, createIndexes(tables))
  await settle(url)
  const { dumpCustom, dumpFolder, copyText, makeTarget, restoreInOne, restoreInTwo } = await createDumpCommands(
    postgres.programs,
    { url, tables, scriptDir: outputDir },
  )
  const path = (name: string): string => join(outputDir, name)
  const [archive, dump, folder] = [path('archive.jsonl.gz'), path('dump'), path('folder')]
  const file = (name: string, to: string, run: (to: string) => Promise<void>): Way => ({
    name,
    run: () => run(to),
    bytes: async () => (await stat(to)).size,
  })
  return withService(async (service) => {
    await applyScript(service, `DROP TABLE ${SAMPLE_TABLE}; ${createTables(tables)}`)
    await fillTables(postgres.superuserUrl, table.schemaName, tables)
    await applyScript(service, createIndexes(tables))
    await settle(postgres.superuserUrl)
    const ways = {
      gzip: file('Wharf export, gzip', archive, (to) => exportToFile(service, 'gzip', to)),
      custom: file('pg_dump -Fc -Z1', dump, dumpCustom),
      folder: { name: 'pg_dump -Fd -j2 -Z1', prepare: () => remove(folder), run: () => dumpFolder(folder) },
      plain: file('Wharf export, plain', path('archive.jsonl'), (to) => exportToFile(service, 'plain', to)),
      text: file('COPY as text of all tables (psql)', path('tables.txt'), copyText),
      import: { name: 'Wharf import', prepare: makeTarget, run: () => importFile(service, archive) },
      inOne: { name: 'pg_restore -1', prepare: makeTarget, run: () => restoreInOne(dump) },
      inTwo: { name: 'pg_restore -j2', prepare: makeTarget, run: () => restoreInTwo(dump) },
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
}

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

/** @returns its URL, as the same login. */
async function createDatabase(superuserUrl: string): Promise<string> {
  await runSql(superuserUrl, `CREATE DATABASE ${DATABASE}`)
  return Object.assign(new URL(superuserUrl), { pathname: `/${DATABASE}` }).href
}

async function runSql(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}
