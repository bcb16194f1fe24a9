import { join } from 'node:path'
import pg from 'pg'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { watchReads } from './support/reader.ts'
import { SAMPLE_TABLE } from './support/sample-table.ts'
import { applyScript, exportToFile, importFile } from './support/wharf-client.ts'

const PARTITIONS = 12
const REPEATS = 3

/** What a stage has besides tables: partitions, functions, views, one of them materialized, and triggers. */
const objects = (rows: number): string => {
  const size = Math.ceil((rows + 1) / PARTITIONS)
  const partitions = Array.from(
    { length: PARTITIONS },
    (_, at) => `CREATE TABLE parted_${at} PARTITION OF parted FOR VALUES FROM (${at * size}) TO (${(at + 1) * size});`,
  )
  return `
    CREATE TABLE parted (LIKE ${SAMPLE_TABLE}, PRIMARY KEY (id)) PARTITION BY RANGE (id);
    ${partitions.join('\n')}
    CREATE INDEX ON parted (created_at);
    CREATE FUNCTION label(parted) RETURNS text LANGUAGE sql STABLE AS 'SELECT $1.name || '' '' || $1.price';
    CREATE VIEW labels AS SELECT id, label(parted.*) AS label FROM parted;
    CREATE VIEW few AS SELECT id, label FROM labels WHERE id < 1000;
    CREATE MATERIALIZED VIEW per_quantity AS SELECT quantity, count(*) AS entries FROM parted GROUP BY quantity;
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
    CREATE TRIGGER refused BEFORE DELETE ON parted FOR EACH ROW EXECUTE FUNCTION refuse();`
}

/** Measures how long somebody waits who reads a partitioned table, a view or a materialized view while all are replaced. */
export async function measureImportWait({ postgres, table, outputDir, withService }: BenchRun, rows: number) {
  const schema = `"${table.schemaName}"`
  const archive = join(outputDir, 'objects.jsonl.gz')
  return withService(async (service): Promise<Measurement[]> => {
    await applyScript(service, objects(rows))
    const client = new pg.Client({ connectionString: postgres.superuserUrl })
    await client.connect()
    // Without triggers: it is importing that is measured.
    await client.query('SET session_replication_role = replica')
    await client.query(`INSERT INTO ${schema}.parted SELECT * FROM ${schema}.${SAMPLE_TABLE}`)
    await client.query(`REFRESH MATERIALIZED VIEW ${schema}.per_quantity; TRUNCATE ${schema}.${SAMPLE_TABLE}`)
    await client.end()
    await exportToFile(service, 'gzip', archive)
    const { readerWait } = BOUNDS
    const measurements: Measurement[] = []
    for (const name of ['parted', 'few', 'per_quantity']) {
      const reader = await watchReads(postgres.superuserUrl, `${schema}.${name}`)
      for (let round = 0; round < REPEATS; round += 1) await importFile(service, archive)
      const longestMs = await reader.stop()
      measurements.push({
        sentence: `${readerWait.sentence} Here of "${name}", in a stage with partitions, views and triggers.`,
        measured: `${longestMs.toFixed(0)} ms`,
        holds: longestMs <= readerWait.maxMs,
      })
    }
    return measurements
  })
}
