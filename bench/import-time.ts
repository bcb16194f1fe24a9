import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { createCommands } from './support/commands.ts'
import { printTable } from './support/print-table.ts'
import { watchReads } from './support/reader.ts'
import { SAMPLE_COLUMNS, SAMPLE_SCHEMA, SAMPLE_TABLE } from './support/sample-table.ts'
import { median, timeOf } from './support/statistics.ts'
import { exportToFile, importFile } from './support/wharf-client.ts'

const REPEATS = 5

/** Rows that one INSERT brings. */
const INSERT_ROWS = 1_000

/**
 * Compares an import over existing rows with PostgreSQL's own ways to replace a table's rows, and measures how long a
 * concurrent reader waits and how much memory the service takes.
 */
export async function measureImport(bench: BenchRun, rows: number): Promise<Measurement[]> {
  const archive = join(bench.outputDir, 'archive.jsonl.gz')
  const text = join(bench.outputDir, 'rows.txt')
  await bench.withService((service) => exportToFile(service, 'gzip', archive))
  await createCommands(bench.postgres, bench.table.schemaName).text(text)
  const client = new pg.Client({ connectionString: bench.postgres.superuserUrl })
  await client.connect()
  try {
    await client.query(
      `DROP SCHEMA IF EXISTS beside CASCADE; CREATE SCHEMA beside; SET search_path = beside; ${SAMPLE_SCHEMA}`,
    )
    return await bench.withService(async (service) => {
      const copies: number[] = []
      const imports: number[] = []
      await replaceByCopy(client, text)
      // In a round whose time does not count: reading without end takes a good part of a core from the import.
      const reader = await watchReads(bench.postgres.superuserUrl, `"${bench.table.schemaName}".${SAMPLE_TABLE}`)
      await importFile(service, archive)
      const longestWaitMs = await reader.stop()
      for (let round = 0; round < REPEATS; round += 1) {
        copies.push(await timeOf(() => replaceByCopy(client, text)))
        imports.push(await timeOf(() => importFile(service, archive)))
      }
      const insert = await timeOf(() => replaceByInsert(client, rows))
      const peakBytes = (await service.peakMemoryBytes()) ?? Number.NaN
      return report({
        rows,
        copies,
        imports,
        insert,
        longestWaitMs,
        peakBytes,
        archiveBytes: (await stat(archive)).size,
      })
    })
  } finally {
    await client.end()
  }
}

async function replaceByCopy(client: pg.Client, path: string): Promise<void> {
  await client.query(`BEGIN; TRUNCATE ${SAMPLE_TABLE}`)
  await pipeline(
    createReadStream(path, { highWaterMark: 256 * 1024 }),
    client.query(copyFrom(`COPY ${SAMPLE_TABLE} FROM STDIN`)),
  )
  await client.query('COMMIT')
}

/** The rows are read back from the table itself, which costs a small part of what it takes to insert them. */
async function replaceByInsert(client: pg.Client, rows: number): Promise<void> {
  const columns = SAMPLE_COLUMNS.join(', ')
  await client.query('CREATE TEMPORARY TABLE source AS TABLE entry')
  await client.query(`BEGIN; TRUNCATE ${SAMPLE_TABLE}`)
  for (let first = 0; first < rows; first += INSERT_ROWS) {
    const { rows: page } = await client.query<unknown[]>({
      text: `SELECT ${SAMPLE_COLUMNS.map((name) => `${name}::text`).join(', ')} FROM source WHERE id > ${first} AND id <= ${first + INSERT_ROWS}`,
      rowMode: 'array',
    })
    if (page.length === 0) continue
    let parameter = 0
    const values = page.map((row) => `(${row.map(() => `$${++parameter}`).join(', ')})`).join(', ')
    await client.query(`INSERT INTO ${SAMPLE_TABLE} (${columns}) VALUES ${values}`, page.flat())
    if (first === 0) await client.query('CREATE INDEX IF NOT EXISTS source_id ON source (id)')
  }
  await client.query('COMMIT; DROP TABLE source')
}

interface Measured {
  readonly rows: number
  readonly copies: readonly number[]
  readonly imports: readonly number[]
  readonly insert: number
  readonly longestWaitMs: number
  readonly peakBytes: number
  readonly archiveBytes: number
}

function report({ rows, copies, imports, insert, longestWaitMs, peakBytes, archiveBytes }: Measured): Measurement[] {
  const ratio = median(imports.map((seconds, round) => seconds / (copies[round] ?? Number.NaN)))
  const line = (name: string, seconds: number, relative: number): string[] => [
    name,
    seconds.toFixed(2),
    Math.round(rows / seconds).toLocaleString('en'),
    relative.toFixed(2),
  ]
  console.log(
    `Import of ${rows.toLocaleString('en')} rows over as many; medians of ${REPEATS} rounds, ratio to the first way\n`,
  )
  printTable(
    ['way', 'seconds', 'rows/s', 'ratio'],
    [
      line('TRUNCATE, COPY of text', median(copies), 1),
      line(`Wharf, gzip (${(archiveBytes / 1e6).toFixed(0)} MB)`, median(imports), ratio),
      line(`TRUNCATE, INSERT of ${INSERT_ROWS} rows (once)`, insert, insert / median(copies)),
    ],
  )
  const { importTime, readerWait, importMemory } = BOUNDS
  return [
    { sentence: importTime.sentence, measured: `${ratio.toFixed(2)} times`, holds: ratio <= importTime.maxRatio },
    {
      sentence: readerWait.sentence,
      measured: `${longestWaitMs.toFixed(0)} ms`,
      holds: longestWaitMs <= readerWait.maxMs,
    },
    {
      sentence: importMemory.sentence,
      measured: `${(peakBytes / 1e6).toFixed(0)} MB`,
      holds: peakBytes <= importMemory.maxBytes,
    },
  ]
}
