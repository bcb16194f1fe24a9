import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createArchiveWriter } from '../../src/archive/archive-writer.ts'
import type { LineInput } from '../../src/archive/lines.ts'
import type { JobTimings } from '../../src/jobs/timings.ts'
import { sweepShadowSchemas } from '../../src/transfer/import/shadow-schemas.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { rowLines } from '../support/archives/row-lines.ts'
import { eventually } from '../support/eventually.ts'
import {
  askImport,
  jobOf,
  NO_LEASE,
  type SeenJob,
  showJob,
  startWorkerProcess,
  takeFromLostWorkers,
  untilEnded,
} from '../support/jobs/jobs.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough, numbers } from '../support/thorough.ts'

const TABLES = ['album', 'track']
const PARTS_PER_TABLE = 20
const PARTS = TABLES.length * PARTS_PER_TABLE
/** Of some 900 bytes each: a part is large enough for what is loaded to be committed behind it. */
const ROWS_PER_PART = 300
const ROWS = PARTS * ROWS_PER_PART

/** Before the first row of each part, while an index is built, and while a check looks at the rows, a lock is taken. */
const LOCK = 471_100
const INDEX = PARTS
const CHECK = PARTS + 1
const waitsAt = (point: string): string => `pg_advisory_xact_lock_shared(${LOCK} + ${point})::text IS NOT NULL`

const STRUCTURE = `
  CREATE DOMAIN numbered AS integer
    CHECK (CASE WHEN VALUE % 1000 = 0 THEN ${waitsAt('VALUE / 1000')} ELSE true END);
  CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCK + INDEX}); RETURN $1 * 2; END $$;
  CREATE TABLE album (n numbered PRIMARY KEY, words text);
  CREATE TABLE track (n numbered PRIMARY KEY, words text, CHECK (${waitsAt(String(CHECK))}));
  CREATE INDEX track_twice ON track (twice(n));`

const partOf = (part: number): (readonly [number, string])[] =>
  numbers(0, ROWS_PER_PART).map((row) => [part * 1000 + row, `${part} ${row} `.padEnd(900, 'words ')])

type Lines = readonly (readonly [string, unknown])[]

let wharf: TestWharf
let structure: Lines

/** The lines of a project's archive that come before its rows. */
async function structureOf(project: string): Promise<Lines> {
  const lines = (await exportOf(wharf.root, project)).trimEnd().split('\n')
  const entries = lines.map((line) => Object.entries<unknown>(JSON.parse(line))[0] ?? (['', null] as const))
  return entries.slice(
    0,
    entries.findIndex(([kind]) => kind === 'rows'),
  )
}

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', STRUCTURE)
  structure = await structureOf('source')
})
afterAll(() => wharf.close())

/** The archive of a stage whose tables have their rows in so many parts. */
function archive(lines = structure, tables = TABLES, partsPerTable = PARTS_PER_TABLE): Buffer {
  const writer = createArchiveWriter()
  const pieces = lines.map(([kind, content]) => writer.open(kind as 'table', content as LineInput<'table'>))
  for (const [index, table] of tables.entries()) {
    for (const part of numbers(0, partsPerTable)) {
      pieces.push(writer.open('rows', { table, columns: ['n', 'words'], part: part + 1 }))
      const rows = partOf(index * partsPerTable + part)
      pieces.push(writer.rows(rows.length, rowLines(rows)))
      pieces.push(writer.close('rowsEnd', { last: part === partsPerTable - 1 }))
    }
  }
  pieces.push(...(['stageEnd', 'projectEnd', 'end'] as const).map((kind) => writer.close(kind)))
  return Buffer.concat(pieces)
}

const startWorker = (timings: Partial<JobTimings> = {}) =>
  startWorkerProcess(wharf, {}, { ...NO_LEASE, saveMs: 0, ...timings })

/** Asks for an import that may be begun as often as a test likes. */
async function askFor(project: string, bytes = archive(), query = ''): Promise<SeenJob> {
  const job = jobOf(await askImport(wharf.root, bytes, `?targetSlug=${project}${query}`))
  await wharf.database.query('UPDATE control.job SET max_attempts = 1000 WHERE id = $1', [job.id])
  return job
}

/** Runs a worker until a session waits for what another one holds, and kills it there. @param look is run before that. */
async function killWaiting(lock: string, waits: string, look: () => Promise<void>): Promise<void> {
  await withSession(wharf.database.url, async (owner) => {
    await owner.query(lock)
    const worker = await startWorker()
    await eventually(() => wharf.database.query(`SELECT FROM pg_locks WHERE NOT granted AND ${waits}`)).toHaveLength(1)
    await look()
    await worker.kill('SIGKILL')
    await takeFromLostWorkers(wharf)
  })
}

/** The same at a point of the import. */
const killAt = (point: number, look: () => Promise<void> = async () => undefined): Promise<void> =>
  killWaiting(`SELECT pg_advisory_lock(${LOCK + point})`, `locktype = 'advisory' AND objid = ${LOCK + point}`, look)

/** The schema in which a job loads beside a stage. */
async function besideOf(project: string): Promise<string> {
  const found = await wharf.database.query<{ name: string }>(
    `SELECT schema_name AS name FROM system.side_schema WHERE schema_name LIKE '${project}.live.new-%'`,
  )
  expect(found).toHaveLength(1)
  return found[0]?.name ?? ''
}

const progressOf = async ({ id }: SeenJob): Promise<unknown> => (await showJob(wharf.root, id)).progress

/** The rows of a project's stage, whatever their order. */
const contents = (project: string, tables = TABLES): Promise<unknown[]> =>
  wharf.database.query(
    `${tables
      .map(
        (table, index) =>
          `SELECT ${index} AS at, count(*)::int, sum(n)::int, sum(hashtext(words))::text FROM "${project}.live".${table}`,
      )
      .join(' UNION ALL ')} ORDER BY at`,
  )

/** The same of the rows of the archive. */
const expectedContents = (tables = TABLES, partsPerTable = PARTS_PER_TABLE): Promise<unknown[]> =>
  wharf.database.query(
    `${tables
      .map(
        (_, index) =>
          `SELECT ${index} AS at, count(*)::int, sum(part * 1000 + n)::int, sum(hashtext(rpad(part || ' ' || n || ' ', 900, 'words ')))::text
           FROM generate_series(${index * partsPerTable}, ${(index + 1) * partsPerTable - 1}) part,
                generate_series(0, ${ROWS_PER_PART - 1}) n`,
      )
      .join(' UNION ALL ')} ORDER BY at`,
  )

/** How many rows PostgreSQL has put into tables, whatever became of them. */
async function inserted(): Promise<number> {
  const [row] = await wharf.database.query<{ n: number }>(
    `SELECT tup_inserted::int AS n FROM pg_stat_database WHERE datname = current_database()`,
  )
  return row?.n ?? 0
}

/** Lets a job end, and says what its last attempt did. */
async function finish(job: SeenJob, project: string): Promise<unknown> {
  const worker = await startWorker()
  const { progress, ...ended } = await untilEnded(wharf.root, job)
  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded' })
  await worker.kill('SIGKILL')
  expect(await contents(project)).toEqual(await expectedContents())
  return progress
}

/** The schemas in which imports were loading, and what is known of them. */
const leftBeside = (): Promise<unknown[]> =>
  wharf.database.query(
    `SELECT schema_name AS name FROM system.side_schema WHERE kind <> 'kept'
     UNION ALL SELECT nspname FROM pg_namespace WHERE nspname LIKE '%.new-%'`,
  )

const spoolFiles = async (): Promise<number> =>
  (await readdir(join(wharf.dataDir, 'spool'), { recursive: true })).filter((name) => name.endsWith('.rows')).length

/** Points at random, by the seed `SEED`, in their order. */
function randomParts(count: number): readonly number[] {
  let seed = Number(process.env.SEED ?? 15)
  const drawn = new Set<number>()
  while (drawn.size < count) {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    drawn.add(1 + (seed % (PARTS - 1)))
  }
  return [...drawn].sort((one, other) => one - other)
}

test('an import whose worker is killed again and again loads each part once', {
  timeout: isThorough ? 15 * 60_000 : 120_000,
}, async () => {
  await createProject(wharf, 'killed', STRUCTURE)
  await applyScript(wharf, 'killed', `INSERT INTO album VALUES (1, 'old')`)
  const job = await askFor('killed')
  const points = [...(isThorough ? numbers(0, PARTS) : randomParts(1)), INDEX, CHECK]
  const before = await inserted()
  let loaded = 0
  const isOld = async (): Promise<void> => {
    expect(await wharf.database.query('SELECT n FROM "killed.live".album')).toEqual([{ n: 1 }])
  }
  for (const point of points) {
    const parts = Math.min(point, PARTS)
    await killAt(point, async () => {
      await eventually(() => progressOf(job)).toMatchObject({ parts: parts - loaded, partsBefore: loaded })
      await isOld()
    })
    loaded = parts
  }
  // Between the load and the swap, when all of it is committed, and closed to the project.
  const lock = `BEGIN; SELECT FROM system.stage_state WHERE schema_name = 'killed.live' FOR NO KEY UPDATE`
  const swap = `pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%stage_state%')`
  await killWaiting(lock, `locktype IN ('transactionid', 'tuple') AND ${swap}`, async () => {
    await isOld()
    const beside = await besideOf('killed')
    expect(
      await wharf.database.query(
        `SELECT has_schema_privilege(tableowner, schemaname, 'USAGE') AS open FROM pg_tables WHERE schemaname = '${beside}'`,
      ),
    ).toEqual(TABLES.map(() => ({ open: false })))
  })
  expect(await finish(job, 'killed')).toMatchObject({ parts: 0, partsBefore: PARTS })
  // What comes beside is what Wharf writes for itself, and some rows of each part in which a worker was killed.
  expect((await inserted()) - before).toBeLessThan(1.2 * ROWS + points.length * ROWS_PER_PART)
  await eventually(leftBeside).toEqual([])
})

test.each([
  ['a row', 'UPDATE $.album SET words = $$others$$ WHERE n = 7'],
  [
    'a table, and makes it again what it was',
    'ALTER TABLE $.album ADD COLUMN more text; ALTER TABLE $.album DROP COLUMN more',
  ],
])('where SQL of the project changes %s of what was loaded, all is loaded again', async (what, sql) => {
  const project = what === 'a row' ? 'changed' : 'altered'
  await createProject(wharf, project, STRUCTURE)
  const job = await askFor(project)
  await killAt(25)
  const beside = await besideOf(project)
  const tables = await wharf.database.query(`SELECT tableowner AS login FROM pg_tables WHERE schemaname = '${beside}'`)
  await wharf.database.query(`SET ROLE "${tables[0]?.login}"; ${sql.replaceAll('$.', `"${beside}".`)}; RESET ROLE`)
  expect(await finish(job, project)).toMatchObject({ parts: PARTS, partsBefore: 0 })
  await eventually(leftBeside).toEqual([])
})

test('where the stage was changed meanwhile, the job loads all of it as it is then', async () => {
  await createProject(wharf, 'restructured', STRUCTURE)
  const job = await askFor('restructured')
  await killAt(25)
  await applyScript(wharf, 'restructured', `COMMENT ON TABLE album IS 'changed'`)
  expect(await finish(job, 'restructured')).toMatchObject({ parts: PARTS, partsBefore: 0 })
  await eventually(leftBeside).toEqual([])
})

test('another import into the stage leaves what a job has loaded alone', async () => {
  await createProject(wharf, 'shared', STRUCTURE)
  const job = await askFor('shared')
  await killAt(25)
  const other = await exportOf(wharf.root, 'source')
  expect(await sendArchive(wharf.root, other, { query: '?targetSlug=shared' })).toMatchObject({ status: 200 })
  await sweepShadowSchemas(wharf.container, wharf.container.logger)
  expect(await finish(job, 'shared')).toMatchObject({ parts: PARTS - 25, partsBefore: 25 })
  await eventually(leftBeside).toEqual([])
})

test('a worker that stood still, and goes on beside the next attempt, changes nothing of what that loads', async () => {
  await createProject(wharf, 'frozen', STRUCTURE)
  const job = await askFor('frozen')
  const next = await withSession(wharf.database.url, async (owner) => {
    const waitsFor = (part: number) => () =>
      wharf.database.query(
        `SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = ${LOCK + part}`,
      )
    await owner.query(`SELECT pg_advisory_lock(${LOCK + 5}), pg_advisory_lock(${LOCK + 30})`)
    // It does not sweep: frozen in the middle of that, it would keep others from it for as long as its lease.
    const frozen = await startWorker({ sweepMs: 600_000 })
    await eventually(waitsFor(5)).toHaveLength(1)
    process.kill(frozen.pid, 'SIGSTOP')
    await takeFromLostWorkers(wharf)
    await owner.query(`SELECT pg_advisory_unlock(${LOCK + 5})`)
    const worker = await startWorker()
    await eventually(waitsFor(30)).toHaveLength(1)
    const spooled = await spoolFiles()
    process.kill(frozen.pid, 'SIGCONT')
    await eventually(spoolFiles).toBe(spooled - 1)
    await eventually(() => progressOf(job)).toMatchObject({ parts: 25, partsBefore: 5 })
    return worker
  })
  expect(await untilEnded(wharf.root, job)).toMatchObject({
    status: 'succeeded',
    progress: { parts: PARTS - 5, partsBefore: 5 },
  })
  expect(await contents('frozen')).toEqual(await expectedContents())
  await eventually(leftBeside).toEqual([])
  await next.kill('SIGKILL')
})

/** Of more bytes than one session is left alone with. */
const MANY_TABLES = ['first', 'second', 'third', 'fourth']
const MANY_PARTS = 14
const MANY_STRUCTURE = `
  CREATE DOMAIN numbered AS integer
    CHECK (CASE WHEN VALUE % 1000 = 0 THEN ${waitsAt('VALUE / 1000')} ELSE true END);
  ${MANY_TABLES.map((table) => `CREATE TABLE ${table} (n numbered PRIMARY KEY DEFERRABLE, words text);`).join('')}`

/** How many parts of the job's tables are committed, by what the last committed transaction has written down. */
async function committedParts(job: SeenJob): Promise<number> {
  const [row] = await wharf.database.query<{ parts: number }>(
    `SELECT sum((t ->> 'parts')::int)::int AS parts
       FROM system.side_schema, jsonb_array_elements(saved -> 'after' -> 'tables') t
      WHERE job_id = $1 AND pg_xact_status((saved ->> 'transaction')::xid8) = 'committed'`,
    [job.id],
  )
  return row?.parts ?? 0
}

test('an import by several sessions whose worker is killed loads what is missing, and nothing else', async () => {
  await createProject(wharf, 'several-source', MANY_STRUCTURE)
  await createProject(wharf, 'several', MANY_STRUCTURE)
  const bytes = archive(await structureOf('several-source'), MANY_TABLES, MANY_PARTS)
  const job = await askFor('several', bytes, '&jobs=3')
  const parts = MANY_TABLES.length * MANY_PARTS
  const before = await inserted()
  // In the middle of the second table, and of the third one: two sessions wait, and another one loads all else.
  const points = [MANY_PARTS + 5, 2 * MANY_PARTS + 8]
  await withSession(wharf.database.url, async (owner) => {
    await owner.query(`SELECT ${points.map((point) => `pg_advisory_lock(${LOCK + point})`).join(', ')}`)
    // No loading begins before all of the archive has come.
    await owner.query('BEGIN; LOCK TABLE system.side_schema IN SHARE MODE')
    const worker = await startWorker()
    await eventually(() => progressOf(job)).toMatchObject({ phase: 'loading' })
    await owner.query('COMMIT')
    const waiting = () =>
      wharf.database.query(
        `SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid IN (${points.map((point) => LOCK + point).join(', ')})`,
      )
    await eventually(waiting).toHaveLength(2)
    await eventually(() => committedParts(job)).toBe(2 * MANY_PARTS + 5 + 8)
    await worker.kill('SIGKILL')
    await takeFromLostWorkers(wharf)
  })
  const worker = await startWorker()
  const { progress, ...ended } = await untilEnded(wharf.root, job)
  expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'succeeded' })
  expect(progress).toMatchObject({ parts: parts - (2 * MANY_PARTS + 5 + 8), partsBefore: 2 * MANY_PARTS + 5 + 8 })
  await worker.kill('SIGKILL')
  expect(await contents('several', MANY_TABLES)).toEqual(await expectedContents(MANY_TABLES, MANY_PARTS))
  // Beside what Wharf writes for itself, some rows of the parts in which the worker was killed.
  expect((await inserted()) - before).toBeLessThan(1.1 * parts * ROWS_PER_PART + points.length * ROWS_PER_PART)
  await eventually(leftBeside).toEqual([])
})

test('a job that is cancelled between two attempts leaves nothing that it has loaded', async () => {
  await createProject(wharf, 'cancelled', STRUCTURE)
  const job = await askFor('cancelled')
  await killAt(25)
  expect(await wharf.root.post(`/jobs/${job.id}/cancel`)).toMatchObject({ status: 202 })
  await sweepShadowSchemas(wharf.container, wharf.container.logger)
  await eventually(leftBeside).toEqual([])
})
