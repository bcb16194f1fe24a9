import pg from 'pg'

export const SAMPLE_TABLE = 'entry'

/** A table as content has them: short and long text, every kind of number, times, JSON. Some 400 bytes a row. */
export const SAMPLE_SCHEMA = `
  CREATE TABLE ${SAMPLE_TABLE} (
    id bigint PRIMARY KEY,
    token uuid NOT NULL,
    name text NOT NULL,
    body text NOT NULL,
    price numeric(12, 2) NOT NULL,
    created_at timestamptz NOT NULL,
    active boolean NOT NULL,
    attributes jsonb NOT NULL,
    quantity integer
  )`

export const SAMPLE_COLUMNS = [
  'id',
  'token',
  'name',
  'body',
  'price',
  'created_at',
  'active',
  'attributes',
  'quantity',
] as const

/** Sentences of ten of these words, four of which make a body: text that compresses as prose does. */
const WORDS =
  'harbour crane the of a vessel cargo and at noon loaded from quiet water rope which north lantern signal ' +
  'before captain crate tide wind over morning under heavy slowly bridge with market letter until pier stone ' +
  'across winter salt iron evening between engine they had never seen again blue paint Zürich São 東京 café'

const SENTENCES = 2048

export interface SampleTable {
  /** Name of the PostgreSQL schema that the table is in. */
  readonly schemaName: string
  /** Adds rows until there are as many, the same ones in every run. */
  fill(rows: number): Promise<void>
}

/** Finds the table that was created in a stage. @param superuserUrl of the database that it is in. */
export async function findSampleTable(superuserUrl: string): Promise<SampleTable> {
  const [found] = await query<{ schemaName: string }>(
    superuserUrl,
    `SELECT schemaname AS "schemaName" FROM pg_tables WHERE tablename = '${SAMPLE_TABLE}'`,
  )
  if (!found) throw new Error(`the table ${SAMPLE_TABLE} has not been created`)
  const { schemaName } = found
  let filled = 0
  return {
    schemaName,
    async fill(rows) {
      if (rows <= filled) return
      await query(superuserUrl, fillStatements(`"${schemaName}".${SAMPLE_TABLE}`, filled + 1, rows))
      // Not inside the statements' common transaction. Afterwards no reader has hint bits left to write.
      await query(superuserUrl, `VACUUM (ANALYZE) "${schemaName}".${SAMPLE_TABLE}`)
      await query(superuserUrl, 'CHECKPOINT')
      filled = rows
    },
  }
}

/** Without triggers: it is reading that is measured. */
const fillStatements = (table: string, first: number, last: number): string => `
  SET session_replication_role = replica;
  SET LOCAL synchronous_commit = off;
  CREATE TEMPORARY TABLE sentence ON COMMIT DROP AS
    SELECT n, string_agg(words[1 + abs(hashint8(n * 10 + position)) % cardinality(words)], ' ' ORDER BY position) AS text
    FROM generate_series(0, ${SENTENCES - 1}) AS n, generate_series(1, 8) AS position,
         (SELECT string_to_array('${WORDS}', ' ') AS words) AS list
    GROUP BY n;
  -- With statistics the sentences are what is hashed, so that rows keep the order of their ids.
  ANALYZE sentence;
  INSERT INTO ${table} (${SAMPLE_COLUMNS.join(', ')})
    SELECT id, md5(id::text)::uuid, 'Entry ' || id || ' ' || split_part(first.text, ' ', 1),
           first.text || '. ' || second.text || '. ' || third.text || '. ' || fourth.text || '.',
           (abs(hashint8(id)) % 10000000) / 100.0, timestamptz '2020-01-01 00:00Z' + id * interval '61.234567 seconds',
           id % 3 = 0, jsonb_build_object('tags', jsonb_build_array('t' || id % 50, 'harbour'), 'score', id % 1000, 'ok', true),
           CASE WHEN id % 11 > 0 THEN id % 5000 END
    FROM generate_series(${first}::int8, ${last}::int8) AS id
    JOIN sentence AS first ON first.n = abs(hashint8(id)) % ${SENTENCES}
    JOIN sentence AS second ON second.n = abs(hashint8(id * 5)) % ${SENTENCES}
    JOIN sentence AS third ON third.n = abs(hashint8(id * 3)) % ${SENTENCES}
    JOIN sentence AS fourth ON fourth.n = abs(hashint8(id * 7)) % ${SENTENCES}`

async function query<Row extends pg.QueryResultRow>(connectionString: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}
