import pg from 'pg'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import { SAMPLE_COLUMNS, SAMPLE_SCHEMA, SAMPLE_TABLE } from './support/sample-table.ts'
import { median, timeOf } from './support/statistics.ts'

/**
 * Each way runs as often with the triggers as without, in turns, so that what else the machine does meets both alike.
 */
const REPEATS = 15

const MANY_ROWS = 10_000
const SINGLE_ROWS = 1_000

const COLUMNS = SAMPLE_COLUMNS.join(', ')

type Row = readonly (string | null)[]

interface Way {
  readonly name: string
  /** Whether it waits for the disk when it commits. */
  readonly synchronousCommit: 'on' | 'off'
  readonly bound: { readonly sentence: string; readonly maxRatio: number }
  /** Writes into the empty table of the schema that is searched. */
  write(client: pg.Client): Promise<void>
}

/**
 * Measures what the event log adds to writes: the same statements into the same table, with its triggers and without.
 */
export async function measureWriteCost(bench: BenchRun): Promise<Measurement[]> {
  const { schemaName } = bench.table
  const client = new pg.Client({ connectionString: bench.postgres.superuserUrl })
  await client.connect()
  try {
    const rows = await readRows(client, `"${schemaName}".${SAMPLE_TABLE}`)
    await client.query(`DROP SCHEMA IF EXISTS unlogged CASCADE; CREATE SCHEMA unlogged; SET search_path = unlogged`)
    await client.query(SAMPLE_SCHEMA)
    // A stage of its own, so that the table of the other parts stays as it is.
    await client.query(`DROP SCHEMA IF EXISTS logged CASCADE; CREATE SCHEMA logged; SET search_path = logged`)
    await client.query(SAMPLE_SCHEMA)
    await client.query(`
      INSERT INTO system.stage_state (stage_id, schema_name, login) VALUES (gen_random_uuid(), 'logged', current_user);
      SELECT wharf.log_tables('logged')`)
    const measurements: Measurement[] = []
    for (const way of [manyRows(rows), singleRows(rows, 'on'), singleRows(rows, 'off')])
      measurements.push(await compare(client, way))
    await client.query(
      `DELETE FROM system.stage_state WHERE schema_name = 'logged'; DROP SCHEMA logged, unlogged CASCADE`,
    )
    return measurements
  } finally {
    await client.end()
  }
}

/** Values as text, as a client sends them. */
async function readRows(client: pg.Client, table: string): Promise<Row[]> {
  const values = SAMPLE_COLUMNS.map((name) => `${name}::text`).join(', ')
  const text = `SELECT ${values} FROM ${table} WHERE id <= ${MANY_ROWS}`
  return (await client.query<(string | null)[]>({ text, rowMode: 'array' })).rows
}

function manyRows(rows: readonly Row[]): Way {
  const literal = (value: string | null): string => (value === null ? 'NULL' : pg.escapeLiteral(value))
  const values = rows.map((row) => `(${row.map(literal).join(', ')})`).join(', ')
  return {
    name: `one INSERT of ${MANY_ROWS.toLocaleString('en')} rows`,
    synchronousCommit: 'on',
    bound: BOUNDS.writeCost,
    write: async (client) => void (await client.query(`INSERT INTO ${SAMPLE_TABLE} (${COLUMNS}) VALUES ${values}`)),
  }
}

/** Each one is a transaction. */
function singleRows(rows: readonly Row[], synchronousCommit: Way['synchronousCommit']): Way {
  const parameters = SAMPLE_COLUMNS.map((_, index) => `$${index + 1}`).join(', ')
  return {
    name: `${SINGLE_ROWS.toLocaleString('en')} INSERTs of one row, synchronous_commit = ${synchronousCommit}`,
    synchronousCommit,
    bound: synchronousCommit === 'on' ? BOUNDS.writeCost : BOUNDS.writeCostInMemory,
    async write(client) {
      for (const row of rows.slice(0, SINGLE_ROWS)) {
        await client.query(`INSERT INTO ${SAMPLE_TABLE} (${COLUMNS}) VALUES (${parameters})`, [...row])
      }
    },
  }
}

async function compare(client: pg.Client, { name, synchronousCommit, bound, write }: Way): Promise<Measurement> {
  await client.query(`SET synchronous_commit = ${synchronousCommit}`)
  const seconds = { unlogged: [] as number[], logged: [] as number[] }
  for (let round = 0; round <= REPEATS; round += 1) {
    for (const schema of ['unlogged', 'logged'] as const) {
      await client.query(`SET search_path = ${schema}; TRUNCATE ${SAMPLE_TABLE}; CHECKPOINT`)
      const taken = await timeOf(() => write(client))
      // The first round fills caches.
      if (round > 0) seconds[schema].push(taken)
    }
  }
  const ratio = median(seconds.logged.map((taken, round) => taken / (seconds.unlogged[round] ?? Number.NaN)))
  console.log(`${name}; medians of ${REPEATS} rounds\n`)
  printTable(
    ['triggers', 'ms', 'ratio'],
    [
      ['without', (1000 * median(seconds.unlogged)).toFixed(0), '1.00'],
      ['with', (1000 * median(seconds.logged)).toFixed(0), ratio.toFixed(2)],
    ],
  )
  const { sentence, maxRatio } = bound
  return { sentence: `${sentence}: ${name}.`, measured: `${ratio.toFixed(2)} times`, holds: ratio <= maxRatio }
}
