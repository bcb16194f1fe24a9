import pg from 'pg'

/** Rows of each table at full size: a few large ones, many small ones, 61 tables with 1.94 million rows. */
const TABLE_ROWS = [
  [800_000, 1],
  [400_000, 1],
  [200_000, 1],
  [100_000, 2],
  [50_000, 4],
  [5_000, 13],
  [3_000, 22],
  [1_000, 1],
  [500, 16],
].flatMap(([rows = 0, tables]) => Array.from({ length: tables ?? 0 }, () => rows))

const ALL_ROWS = TABLE_ROWS.reduce((sum, rows) => sum + rows, 0)

export interface SampleDatabaseTable {
  readonly name: string
  readonly rows: number
}

/** The tables of a database as people have them. @param rows how many all have together, about; 1.94 million where it is left out. */
export const sampleTables = (rows = ALL_ROWS): readonly SampleDatabaseTable[] =>
  TABLE_ROWS.map((full, index) => ({
    name: `table_${String(index + 1).padStart(2, '0')}`,
    rows: Math.max(1, Math.round((full * rows) / ALL_ROWS)),
  }))

export const createTables = (tables: readonly SampleDatabaseTable[]): string =>
  tables
    .map(
      ({ name }) => `
        CREATE TABLE ${name} (
          id bigint NOT NULL,
          owner_id integer NOT NULL,
          quantity smallint,
          price numeric(12, 2) NOT NULL,
          weight double precision,
          created_at timestamptz NOT NULL,
          due date,
          active boolean NOT NULL,
          name text NOT NULL,
          note text,
          tags text[] NOT NULL,
          attributes jsonb NOT NULL
        );`,
    )
    .join('')

/** A key and two indexes each, made when the rows are there. */
export const createIndexes = (tables: readonly SampleDatabaseTable[]): string =>
  tables
    .map(
      ({ name }) => `
        ALTER TABLE ${name} ADD PRIMARY KEY (id);
        CREATE INDEX ON ${name} (owner_id);
        CREATE INDEX ON ${name} (created_at);`,
    )
    .join('')

/** Fills the tables, the same rows in every run. @param connectionString of a superuser. */
export async function fillTables(
  connectionString: string,
  schemaName: string,
  tables: readonly SampleDatabaseTable[],
): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    // Without triggers: it is reading that is measured.
    await client.query('SET session_replication_role = replica')
    for (const { name, rows } of tables) await client.query(fillTable(`"${schemaName}".${name}`, rows))
  } finally {
    await client.end()
  }
}

/** Leaves nothing for later that would be done while something else is measured: hint bits to write, dirty pages. */
export async function settle(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await client.query('VACUUM (ANALYZE)')
    await client.query('CHECKPOINT')
  } finally {
    await client.end()
  }
}

const fillTable = (table: string, rows: number): string => `
  INSERT INTO ${table}
  SELECT id, abs(hashint8(id)) % 100000, CASE WHEN id % 11 > 0 THEN id % 5000 END, (abs(hashint8(id * 3)) % 10000000) / 100.0,
         CASE WHEN id % 7 > 0 THEN sqrt(id) END, timestamptz '2020-01-01 00:00Z' + id * interval '61.234567 seconds',
         CASE WHEN id % 5 > 0 THEN date '2021-01-01' + (id % 2000)::int END, id % 3 = 0,
         'Entry ' || id || ' ' || words[1 + abs(hashint8(id * 5)) % cardinality(words)],
         CASE WHEN id % 4 > 0 THEN words[1 + abs(hashint8(id * 7)) % cardinality(words)] || ' "' || words[1 + id % 7] || '"' END,
         ARRAY[words[1 + id % cardinality(words)], 't' || id % 50],
         jsonb_build_object('score', id % 1000, 'ok', true, 'place', words[1 + id % 9])
    FROM generate_series(1::int8, ${rows}) AS id,
         (SELECT string_to_array('harbour crane vessel cargo noon quiet rope north lantern signal captain Zürich 東京 café', ' ') AS words)
           AS list
`
