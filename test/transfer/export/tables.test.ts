import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quoteIdentifier, quoteQualified } from '../../../src/database/quoting.ts'
import { withExport } from '../../../src/transfer/export/with-export.ts'
import { collect } from '../../support/archives/archive-sample.ts'
import { tablesOf } from '../../support/archives/archive-text.ts'
import { exportOf } from '../../support/archives/import.ts'
import { schemaOf } from '../../support/content/content.ts'
import { createExternalDatabase } from '../../support/database/external-database.ts'
import { openSession, query, withSession } from '../../support/servers/sessions.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../../support/service/wharf.ts'

const MEBIBYTE = 1024 * 1024

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_HELPING_SESSIONS: '6', ...MAY_ATTACH } })
})

afterAll(() => wharf.close())

const LONG_NAME = `${'ü'.repeat(31)}_`

/** Tables that are unusual in what they are called, made of, or hold; each with the rows that it must have. */
const UNUSUAL: readonly [what: string, table: string, rows: number, script: string][] = [
  ['no rows', 'empty', 0, 'CREATE TABLE empty (a int, b text)'],
  ['neither columns nor rows', 'nothing', 0, 'CREATE TABLE nothing ()'],
  ['rows without columns', 'blank', 3, `CREATE TABLE blank (); ${'INSERT INTO blank DEFAULT VALUES;'.repeat(3)}`],
  ['only dropped columns', 'bare', 1, 'CREATE TABLE bare AS SELECT 1 AS a; ALTER TABLE bare DROP COLUMN a'],
  [
    '1,600 columns',
    'wide',
    2,
    `DO $$ BEGIN EXECUTE (SELECT format('CREATE TABLE wide (%s)', string_agg('c' || n || ' smallint', ',')) FROM generate_series(1, 1600) n);
     EXECUTE (SELECT format('INSERT INTO wide VALUES (%s), (NULL%s)', string_agg(n::text, ','), repeat(',NULL', 1599)) FROM generate_series(1, 1600) n); END $$`,
  ],
  [
    '100 columns',
    'hundred',
    1,
    `CREATE TABLE hundred AS SELECT ${Array.from({ length: 100 }, (_, n) => `${n} AS c${n}`)}`,
  ],
  ['101 columns', 'more', 1, `CREATE TABLE more AS SELECT ${Array.from({ length: 101 }, (_, n) => `${n} AS c${n}`)}`],
  [
    'columns dropped, and added with a default',
    'changed',
    2,
    `CREATE TABLE changed (a int, b text, c int); INSERT INTO changed VALUES (1, 'x', 2), (3, 'y', 4);
     ALTER TABLE changed DROP COLUMN b, ADD COLUMN d text DEFAULT 'later'`,
  ],
  [
    'blocks that deletions have left empty',
    'sparse',
    2,
    `CREATE TABLE sparse AS SELECT n, repeat('x', 500) AS t FROM generate_series(1, 5000) n; DELETE FROM sparse WHERE n NOT IN (7, 4900)`,
  ],
  [
    'rows that were all deleted',
    'cleared',
    0,
    'CREATE TABLE cleared AS SELECT 1 AS n FROM generate_series(1, 999); DELETE FROM cleared',
  ],
  ['no log', 'unlogged', 1, 'CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS n'],
  [
    'few rows to a block',
    'loose',
    500,
    'CREATE TABLE loose (n int) WITH (fillfactor = 10); INSERT INTO loose SELECT generate_series(1, 500)',
  ],
  ['many rows to a block', 'dense', 50_000, 'CREATE TABLE dense AS SELECT n FROM generate_series(1, 50000) n'],
  [
    'short and long values in turn',
    'mixed',
    60,
    `CREATE TABLE mixed (n int, t text); ALTER TABLE mixed ALTER t SET STORAGE EXTERNAL;
     INSERT INTO mixed SELECT n, repeat(n::text, CASE WHEN n % 3 = 0 THEN 50000 ELSE 1 END) FROM generate_series(1, 60) n`,
  ],
  ['a quote, a space and a dot in its name', 'quo"te d.t', 1, 'CREATE TABLE "quo""te d.t" AS SELECT 1 AS "a ""b"".c"'],
  ['the longest name that there is', LONG_NAME, 1, `CREATE TABLE "${LONG_NAME}" AS SELECT 1 AS "${LONG_NAME}"`],
  ['capitals in its name', 'CamelCase', 1, 'CREATE TABLE "CamelCase" AS SELECT 1 AS "mixedCase"'],
  ['a name in other letters', '表 😀', 1, `CREATE TABLE "表 😀" AS SELECT 'é' AS "列"`],
  [
    'words of SQL as names',
    'select',
    1,
    'CREATE TABLE "select" AS SELECT 1 AS "from", 2 AS "user", 3 AS "current_date"',
  ],
  ['a percent sign and a dollar', '100% $1', 1, 'CREATE TABLE "100% $1" AS SELECT 1 AS "%s", 2 AS "$1"'],
  [
    'columns called as the query calls its own',
    'wharf_table',
    1,
    'CREATE TABLE wharf_table AS SELECT 1 AS page, 2 AS "rows", 3 AS "lines", 4 AS wharf_blocks, 7 AS wharf_byte_text, 5 AS "first", 6 AS wharf_table, 8 AS wharf_range, 9 AS wharf_row, 10 AS "number"',
  ],
  [
    'a generated column called as the query calls what its rows are counted by',
    'ranged',
    20,
    `CREATE TABLE ranged (n int, wharf_range int GENERATED ALWAYS AS (n * 0 + 1) STORED, "number" int GENERATED ALWAYS AS (7) STORED);
     INSERT INTO ranged SELECT generate_series(1, 20)`,
  ],
  [
    'the name of what the query has beside it',
    'wharf_blocks',
    2,
    `CREATE TABLE wharf_blocks AS SELECT 99 AS "first", 'a' AS "lines" FROM generate_series(1, 2)`,
  ],
  [
    'the name of a function',
    'json_build_array',
    1,
    'CREATE TABLE json_build_array AS SELECT 1 AS string_agg, 2 AS count',
  ],
  ['the name of a catalog', 'pg_shadowed', 1, 'CREATE TABLE pg_shadowed AS SELECT 1 AS oid, 2 AS relname'],
]

/** What SQL has in a table, in the order in which it is stored: each value as text. */
async function storedRows(table: string, columns: readonly string[]): Promise<(string | null)[][]> {
  const values = columns.map((column) => `${quoteIdentifier(column)}::text`).join(', ')
  const rows = await wharf.database.query<{ values: (string | null)[] }>(
    `SELECT ARRAY[${values}]::text[] AS values FROM ${quoteQualified('unusual.live', table)} ORDER BY ctid`,
  )
  return rows.map((row) => row.values)
}

test('tables of every kind are exported with just the rows that they have', async () => {
  await createProject(wharf, 'unusual', UNUSUAL.map(([, , , script]) => script).join(';\n'))
  const text = await exportOf(wharf.root, 'unusual')
  const archived = new Map(tablesOf(text).map((table) => [table.name, table]))
  expect([...archived.keys()].toSorted()).toEqual(UNUSUAL.map(([, table]) => table).toSorted())
  for (const [what, name, rows] of UNUSUAL) {
    const table = archived.get(name)
    expect(table?.count, what).toBe(rows)
    const values = table?.rows.map((row) => row.map((value) => (value === null ? null : String(value))))
    expect(values, what).toEqual(await storedRows(name, table?.columns ?? []))
  }
})

test('generated columns are described and carry no values', async () => {
  const script = `CREATE TABLE t (a int, twice int GENERATED ALWAYS AS (a * 2) STORED, b int); INSERT INTO t VALUES (1, DEFAULT, 3)`
  await createProject(wharf, 'generated', script)
  const text = await exportOf(wharf.root, 'generated')
  expect(tablesOf(text)).toMatchObject([{ columns: ['a', 'b'], rows: [[1, 3]] }])
  expect(text).toContain('"generated":"(a * 2)"')
})

/** The largest piece that an export gives at once, and how many bytes it gives. */
async function largestPiece(slug: string): Promise<{ piece: number; bytes: number }> {
  const largest = { piece: 0, bytes: 0 }
  await withExport(wharf.container, [{ slug, system: false }], async (archive) => {
    for await (const chunk of archive) {
      largest.piece = Math.max(largest.piece, chunk.length)
      largest.bytes += chunk.length
    }
  })
  return largest
}

test('rows of 20 MB come one by one', async () => {
  await createProject(
    wharf,
    'heavy',
    `CREATE TABLE heavy AS SELECT n, repeat('x', 20000000) AS t FROM generate_series(1, 4) n`,
  )
  const { piece, bytes } = await largestPiece('heavy')
  expect(bytes).toBeGreaterThan(80_000_000)
  expect(piece).toBeLessThan(20_100_000)
})

test('rows that PostgreSQL keeps compressed come a few at a time, however many fit into a block', async () => {
  await createProject(
    wharf,
    'dense',
    `CREATE TABLE dense AS SELECT n, repeat('x', 80000) AS t FROM generate_series(1, 1000) n`,
  )
  const { piece, bytes } = await largestPiece('dense')
  expect(bytes).toBeGreaterThan(80_000_000)
  expect(piece).toBeLessThan(0.5 * MEBIBYTE)
})

test('an export whose reader pauses has PostgreSQL wait, and keeps a few megabytes', async () => {
  const waiting = `SELECT FROM pg_stat_activity WHERE application_name = 'paused' AND wait_event = 'ClientWrite'`
  await withExport(
    wharf.container,
    [{ slug: 'dense', system: false }],
    async (archive) => {
      for await (const chunk of archive) {
        if (!chunk.now.toString('latin1', 0, 7).includes('{"row":')) continue
        await expect.poll(() => wharf.database.query(waiting)).toHaveLength(1)
        break
      }
    },
    { sessionName: 'paused', jobs: 1 },
  )
  await expect.poll(() => wharf.database.query(waiting)).toHaveLength(0)
})

interface Reading {
  readonly jobs?: number
  readonly maxBytesPerSecond?: number
}

/** Asks for the archive of a project as it comes. */
const openArchive = (project: string, { gzip = false, ...reading }: Reading & { readonly gzip?: boolean }) =>
  request(`${wharf.url}/export`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ROOT_TOKEN}`,
      'content-type': 'application/json',
      'accept-encoding': gzip ? 'gzip' : 'identity',
    },
    body: JSON.stringify({ projects: [{ slug: project, system: false }], ...reading }),
  })

/** All but its first line, with the date. */
async function withoutDate(archive: AsyncIterable<Buffer>): Promise<Buffer> {
  const bytes = Buffer.concat(await collect(archive))
  return bytes.subarray(bytes.indexOf('\n') + 1)
}

/** Of how many sessions the exports under way read rows. */
const readingSessions = async (): Promise<number> => (await readingStates()).length

async function readingStates(): Promise<readonly object[]> {
  const reading = `SELECT state, state_change::text, wait_event FROM pg_stat_activity
    WHERE application_name LIKE 'wharf export %' AND usename <> current_user AND datname = current_database() ORDER BY pid`
  return wharf.database.query(reading)
}

test('one, two and four sessions give the same file, but for the first line, also where some rows are longer than pages', async () => {
  const filler = 'repeat(md5(n::text), CASE WHEN n % 7000 = 0 THEN 12000 ELSE 12 END)'
  await createProject(
    wharf,
    'shared',
    `CREATE TABLE large AS SELECT n, ${filler} AS t FROM generate_series(1, 90000) n;
     DELETE FROM large WHERE n BETWEEN 20000 AND 60000;
     CREATE TABLE small AS SELECT n FROM generate_series(1, 10) n;
     CREATE TABLE other AS SELECT n, ${filler} AS t FROM generate_series(1, 60000) n; CREATE TABLE none (n int)`,
  )
  const archives: Buffer[] = []
  for (const jobs of [1, 2, 4]) {
    const { body } = await openArchive('shared', { jobs })
    await expect.poll(readingSessions).toBe(jobs)
    archives.push(await withoutDate(body))
    await expect.poll(readingSessions).toBe(0)
  }
  const [one = Buffer.alloc(0), ...others] = archives
  expect(tablesOf(one.toString()).map(({ name, count }) => [name, count])).toEqual([
    ['large', expect.any(Number)],
    ['large', expect.any(Number)],
    ['none', 0],
    ['other', 60000],
    ['small', 10],
  ])
  const longRows = one
    .toString()
    .split('\n')
    .filter((row) => row.length > 32 * 12000)
  expect(longRows).toHaveLength(14)
  expect(others.every((other) => other.equals(one))).toBe(true)
})

test('an export goes on without a session whose locks would wait for somebody who waits for the export', async () => {
  const { body: whole } = await openArchive('shared', { jobs: 1 })
  const expected = await withoutDate(whole)
  const [first, second] = await Promise.all([
    openSession(wharf.database.superuserUrl),
    openSession(wharf.database.superuserUrl),
  ])
  const lock = `LOCK TABLE "${await schemaOf(wharf, 'shared')}".large IN ACCESS EXCLUSIVE MODE`
  const waiters = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%LOCK TABLE %' AND datname = current_database()`
  const waiting = async (): Promise<number> => (await query(wharf.database.superuserUrl, waiters)).length
  try {
    await first.query(`BEGIN; ${lock}`)
    const answer = openArchive('shared', { jobs: 2 })
    await expect.poll(waiting).toBe(1)
    const altering = second.query(`BEGIN; ${lock}; ROLLBACK`)
    await expect.poll(waiting).toBe(2)
    await first.query('ROLLBACK')
    const { body } = await answer
    expect(await readingSessions()).toBe(1)
    expect((await withoutDate(body)).equals(expected)).toBe(true)
    await altering
  } finally {
    await Promise.all([first.end(), second.end()])
  }
})

test('a session that is lost once all rows are read does not spoil the export', async () => {
  const rows = `SELECT n, repeat(md5(n::text), 12) AS t FROM generate_series(1, 90000) n`
  await createProject(wharf, 'single', `CREATE TABLE single AS ${rows}`)
  const { body: whole } = await openArchive('single', { jobs: 1 })
  const expected = await withoutDate(whole)
  const { body } = await openArchive('single', { jobs: 2, maxBytesPerSecond: 8 * 1024 * 1024 })
  const archive = withoutDate(body)
  const lost = async (): Promise<number> =>
    (
      await wharf.database.query(
        `SELECT pg_terminate_backend(max(pid)) FROM pg_stat_activity
          WHERE application_name LIKE 'wharf export %' AND usename <> current_user AND datname = current_database()
         HAVING count(*) = 2 AND bool_and(state = 'idle in transaction')`,
      )
    ).length
  await expect.poll(lost, { interval: 20 }).toBe(1)
  expect((await archive).equals(expected)).toBe(true)
})

test('an export that is told to be slow reads in one session, unless it is told how many', async () => {
  const maxBytesPerSecond = 1024 ** 3
  for (const [reading, sessions] of [
    [{ maxBytesPerSecond }, 1],
    [{ maxBytesPerSecond, jobs: 2 }, 2],
  ] as const) {
    const { body } = await openArchive('shared', reading)
    expect(await readingSessions()).toBe(sessions)
    await withoutDate(body)
    await expect.poll(readingSessions).toBe(0)
  }
})

test('exports that want many sessions leave some to others, and reads of rows are answered meanwhile', async () => {
  const bodies: Awaited<ReturnType<typeof openArchive>>['body'][] = []
  const sessions: number[] = []
  for (let n = 0; n < 4; n += 1) {
    bodies.push((await openArchive('shared', { jobs: 32 })).body)
    sessions.push(await readingSessions())
  }
  // Beside its own, each has half of those that are free, of six.
  expect(sessions).toEqual([4, 7, 9, 10])
  expect((await wharf.root.get('/content/shared/live/small')).json).toHaveLength(10)
  const archives = await Promise.all(bodies.map(withoutDate))
  expect(archives.every((archive) => archive.equals(archives[0] as Buffer))).toBe(true)
})

test.for([
  [20, 4],
  [14, 2],
  [12, 1],
])(
  'of %i sessions that a login may have, up to %i read, and leave ten to reads and as many to others',
  async ([most, reading]) => {
    await expect.poll(readingSessions).toBe(0)
    const [login] = await wharf.database.query<{ name: string }>(
      `SELECT login AS name FROM control.project WHERE slug = 'shared'`,
    )
    await withSession(wharf.database.url, async (sweeper) => {
      // A sweep would set the limit back.
      await sweeper.query(`BEGIN; SELECT FROM control.lock WHERE name = 'sweep' FOR UPDATE`)
      await wharf.database.query(`ALTER ROLE ${quoteIdentifier(login?.name ?? '')} CONNECTION LIMIT ${most}`)
      const { body } = await openArchive('shared', { jobs: 4 })
      expect(await readingSessions()).toBe(reading)
      await body.dump({ limit: Number.MAX_SAFE_INTEGER })
    })
  },
)

test.for([1, 2, 3])('an attached database whose login may have %i sessions is exported all the same', async (most) => {
  const external = await createExternalDatabase(
    `CREATE TABLE large AS SELECT n, repeat(md5(n::text), 12) AS t FROM generate_series(1, 90000) n`,
  )
  try {
    const slug = `limited-${most}`
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
    expect((await wharf.root.post('/projects', { json: { slug, attach } })).status).toBe(201)
    const { username } = external.owner
    await query(external.database.superuserUrl, `ALTER ROLE ${username} CONNECTION LIMIT ${most}`)
    await query(
      external.database.superuserUrl,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${username}'`,
    )
    const { body } = await openArchive(slug, { jobs: 4 })
    expect((await withoutDate(body)).toString()).toContain('"rows":90000')
  } finally {
    await external.drop()
  }
})

test('several sessions read an attached database, too, and give the same file as one', async () => {
  const external = await createExternalDatabase(
    `CREATE TABLE large AS SELECT n, repeat(md5(n::text), 12) AS t FROM generate_series(1, 90000) n`,
  )
  try {
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
    expect((await wharf.root.post('/projects', { json: { slug: 'attached', attach } })).status).toBe(201)
    const reading = `SELECT FROM pg_stat_activity WHERE application_name LIKE 'wharf export %' AND datname = current_database()`
    const sessions = async (): Promise<number> => (await query(external.owner.href, reading)).length
    const archives: Buffer[] = []
    for (const jobs of [1, 3]) {
      const { body } = await openArchive('attached', { jobs })
      await expect.poll(sessions).toBe(jobs)
      archives.push(await withoutDate(body))
      await expect.poll(sessions).toBe(0)
    }
    expect(archives[0]?.length).toBeGreaterThan(MEBIBYTE)
    expect(archives[1]?.equals(archives[0] ?? Buffer.alloc(0))).toBe(true)
  } finally {
    await external.drop()
  }
})

test('who reads an archive that is not compressed, and pauses, gets the same rows', async () => {
  const { body } = await openArchive('shared', { jobs: 1 })
  // Until there is no room on the way any more, and nothing gets on.
  await expect
    .poll(async () => {
      const before = await readingStates()
      await sleep(300)
      return before.length > 0 && isDeepStrictEqual(before, await readingStates())
    })
    .toBe(true)
  const plain = await withoutDate(body)
  const packed = await openArchive('shared', { jobs: 1, gzip: true })
  const whole = gunzipSync(Buffer.concat(await collect(packed.body)))
  expect(plain.equals(whole.subarray(whole.indexOf('\n') + 1))).toBe(true)
})

test.each([0, 33, 1.5])('%s sessions are refused', async (jobs) => {
  const answer = await wharf.root.post('/export', { json: { projects: [{ slug: 'shared' }], jobs } })
  expect(answer.status).toBe(400)
})

test('a stage whose project and stage have the longest names is exported like any other', async () => {
  const [slug, stage] = [`a${'-b_9'.repeat(15)}zz`, `s${'-x'.repeat(31)}`]
  await wharf.root.post('/projects', { json: { slug, stages: [stage] } })
  expect((await applyScript(wharf, slug, 'CREATE TABLE t AS SELECT 7 AS n', stage)).status).toBe(200)
  const answer = await wharf.root.post('/export', { json: { projects: [{ slug }] } })
  expect(tablesOf(answer.text)).toMatchObject([{ path: `${slug}/${stage}/t`, rows: [[7]] }])
})
