import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../../src/logger.ts'
import { ROOT } from '../../../src/projects/access.ts'
import { importArchive } from '../../../src/transfer/import/import-archive.ts'
import { createLoadingSchema, sweepShadowSchemas } from '../../../src/transfer/import/shadow-schemas.ts'
import { buildArchive, column } from '../../support/archives/archive-builder.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { readState } from '../../support/database/database-state.ts'
import { noTransactionStaysOpen } from '../../support/database/transactions.ts'
import type { ApiAnswer } from '../../support/http/api-client.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Two tables, of which the first takes more than one piece of the file that an archive is spooled into. */
const STRUCTURE = `
  CREATE TABLE log (id integer PRIMARY KEY, line text NOT NULL);
  CREATE TABLE mark (id integer PRIMARY KEY, log_id integer NOT NULL REFERENCES log);`
const ROWS = `
  INSERT INTO log SELECT n, repeat('line ' || n || ' ', 12) FROM generate_series(1, 10000) n;
  INSERT INTO mark SELECT n, n FROM generate_series(1, 10) n;`
const OLD = `INSERT INTO log VALUES (1, 'old')`

let wharf: TestWharf
let archive: string
let cut: number

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', STRUCTURE + ROWS)
  archive = await exportOf(wharf.root, 'source')
  cut = archive.indexOf('{"row":[9000')
})
afterAll(() => wharf.close())

interface Arriving {
  /** Waits until rows are being loaded. @returns the object id of the table that they go into. */
  loading(): Promise<number>
  /** Sends the rest, or what is given in its place. @returns the import's answer. */
  finish(rest?: string): Promise<ApiAnswer>
  /** Goes away. */
  leave(): Promise<void>
}

/** Sends the archive to a new project that has a row already, and stops where most rows of the first table have come. */
async function arriving(slug: string): Promise<Arriving> {
  await createProject(wharf, slug, STRUCTURE + OLD)
  let send: (rest: string) => void = () => undefined
  const sent = new Promise<string>((resolve) => {
    send = resolve
  })
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(archive.slice(0, cut))
    yield Buffer.from(await sent)
  }
  const leaving = new AbortController()
  const answer = sendArchive(wharf.root, body(), { query: `?targetSlug=${slug}`, signal: leaving.signal })
  void Promise.allSettled([answer])
  return {
    async loading() {
      await expect.poll(() => copiesInto(slug)).toHaveLength(1)
      return (await copiesInto(slug))[0] ?? 0
    },
    finish(text = archive.slice(cut)) {
      send(text)
      return answer
    },
    async leave() {
      leaving.abort()
      await expect(answer).rejects.toThrow()
    },
  }
}

/** The tables that a project's login is copying rows into, and that have some. */
const copiesInto = (slug: string): Promise<readonly number[]> =>
  withSession(wharf.database.superuserUrl, async (client) => {
    const { rows } = await client.query<{ table: number }>(
      `SELECT relid::int AS table FROM pg_stat_progress_copy JOIN pg_stat_activity USING (pid)
       WHERE usename = (SELECT login FROM control.project WHERE slug = $1) AND tuples_processed > 0`,
      [slug],
    )
    return rows.map(({ table }) => table)
  })

const tableOf = async (slug: string, name = 'log'): Promise<number | undefined> =>
  (await wharf.database.query<{ id: number }>(`SELECT '"${slug}.live".${name}'::regclass::oid::int AS id`))[0]?.id

async function expectImported(slug: string, answer: ApiAnswer): Promise<void> {
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(comparableLines(await exportOf(wharf.root, slug))).toEqual(comparableLines(archive))
  expect(await shadowSchemas(slug)).toEqual([{ kind: 'kept' }])
  await noTransactionStaysOpen(wharf)
}

const shadowSchemas = (slug: string): Promise<unknown[]> =>
  wharf.database.query(`SELECT kind FROM system.side_schema WHERE schema_name LIKE '${slug}.%'`)

test('rows are loaded while their archive is still arriving, and are those that change places in the end', async () => {
  const coming = await arriving('early')
  const table = await coming.loading()
  expect(await exportOf(wharf.root, 'early')).toContain('"old"')
  await expectImported('early', await coming.finish())
  expect(await tableOf('early')).toBe(table)
})

test('an archive that turns out to be damaged leaves nothing of what was loaded by then', async () => {
  const coming = await arriving('damaged')
  const before = await readState(wharf.database, `nspname NOT LIKE '%.new-%'`)
  await coming.loading()
  expect(await coming.finish('{"row":[9000,"line"]}\n')).toMatchObject({ status: 400 })
  expect(await shadowSchemas('damaged')).toEqual([])
  expect(await readdir(wharf.container.spoolFolder)).toEqual([])
  expect(await readState(wharf.database)).toMatchObject({ schemas: before.schemas, relations: before.relations })
  await noTransactionStaysOpen(wharf)
})

test('a client that goes away while its archive is loaded leaves nothing', async () => {
  const coming = await arriving('left')
  await coming.loading()
  await coming.leave()
  await expect.poll(() => shadowSchemas('left')).toEqual([])
  await expect.poll(() => readdir(wharf.container.spoolFolder)).toEqual([])
  await noTransactionStaysOpen(wharf)
})

test('where the structure is changed meanwhile, rows are loaded again into what it is then', async () => {
  const coming = await arriving('changed')
  const table = await coming.loading()
  await applyScript(wharf, 'changed', `COMMENT ON TABLE log IS 'lines'`)
  const answer = await coming.finish()
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(await tableOf('changed')).not.toBe(table)
  expect(await wharf.database.query(`SELECT obj_description(${await tableOf('changed')}) AS comment`)).toEqual([
    { comment: 'lines' },
  ])
})

test('of two archives that arrive at once, each is imported when it is whole', async () => {
  const coming = await arriving('both')
  const table = await coming.loading()
  const other = await sendArchive(wharf.root, archive, { query: '?targetSlug=both' })
  expect(other, other.text).toMatchObject({ status: 200 })
  expect(await tableOf('both')).not.toBe(table)
  const answer = await coming.finish()
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(await tableOf('both')).toBe(table)
})

test('where the loading is ended from outside, rows are loaded when the archive is whole', async () => {
  const coming = await arriving('ended')
  const table = await coming.loading()
  await withSession(wharf.database.superuserUrl, (client) =>
    client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_progress_copy WHERE relid = ${table}`),
  )
  await noTransactionStaysOpen(wharf)
  await expectImported('ended', await coming.finish())
  expect(await tableOf('ended')).not.toBe(table)
})

test('a project can be deleted while an archive arrives for it', async () => {
  const coming = await arriving('deleted')
  await coming.loading()
  expect(await wharf.root.delete('/projects/deleted')).toMatchObject({ status: 204 })
  expect(await coming.finish()).toMatchObject({ status: 404 })
  expect(await shadowSchemas('deleted')).toEqual([])
  await noTransactionStaysOpen(wharf)
})

test('of many stages the first are loaded while the archive arrives, and all are there in the end', async () => {
  const slugs = ['live', 'second', 'third']
  expect(await wharf.root.post('/projects', { json: { slug: 'stages', stages: slugs } })).toMatchObject({ status: 201 })
  const rows = Array.from({ length: 1_000 }, (_, id) => [id, 'x'.repeat(1_000)])
  const tables = [{ name: 'log', columns: [column('id', 'integer'), column('line', 'text')], rows }]
  const stages = slugs.map((slug) => ({ slug, tables }))
  const seen: unknown[] = []
  async function* watched(bytes: Buffer): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, -1_000_000)
    await expect.poll(() => shadowSchemas('stages')).toHaveLength(2)
    seen.push(...(await shadowSchemas('stages')))
    yield bytes.subarray(-1_000_000)
  }
  const answer = await sendArchive(wharf.root, watched(buildArchive({ slug: 'stages', stages })))
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(seen).toEqual([{ kind: 'arriving' }, { kind: 'arriving' }])
  for (const slug of slugs) {
    expect(await wharf.database.query(`SELECT count(*)::int AS n FROM "stages.${slug}".log`)).toEqual([{ n: 1_000 }])
  }
})

test('a table has its keys, its indexes and its statistics before the rows of the next one come', async () => {
  // Rows without values come in one statement, when all of them are there.
  await createProject(wharf, 'large', 'CREATE TABLE log (id integer PRIMARY KEY, line text); CREATE TABLE nothing ()')
  await applyScript(
    wharf,
    'large',
    `CREATE INDEX ON log (line);
     INSERT INTO log SELECT n, repeat('line', 1000) FROM generate_series(1, 900) n;
     INSERT INTO nothing SELECT FROM generate_series(1, 50000)`,
  )
  const large = Buffer.from(await exportOf(wharf.root, 'large'))
  const cut = large.length - 10_000
  const statements: unknown[] = []
  async function* watched(): AsyncGenerator<Buffer> {
    yield large.subarray(0, cut)
    await expect.poll(() => lastStatement('large')).toMatch(/^ANALYZE/)
    statements.push(await lastStatement('large'))
    yield large.subarray(cut)
  }
  const answer = await sendArchive(wharf.root, watched(), { query: '?targetSlug=large' })
  expect(answer, answer.text).toMatchObject({ status: 200 })
  expect(statements).toEqual(['ANALYZE "log"'])
  expect(comparableLines(await exportOf(wharf.root, 'large'))).toEqual(comparableLines(large.toString()))
})

/** The last statement in a transaction of a project's login in which none is running. */
const lastStatement = async (slug: string): Promise<string | undefined> =>
  withSession(wharf.database.superuserUrl, async (client) => {
    const { rows } = await client.query<{ query: string }>(
      `SELECT query FROM pg_stat_activity WHERE state = 'idle in transaction'
          AND usename = (SELECT login FROM control.project WHERE slug = $1)`,
      [slug],
    )
    return rows[0]?.query
  })

test('a sweep takes what nobody loads into any more, and nothing else', async () => {
  const coming = await arriving('swept')
  const table = await coming.loading()
  const [stage] = await wharf.database.query<{ stageId: string; schemaName: string; login: string }>(
    `SELECT stage_id AS "stageId", schema_name AS "schemaName", login FROM system.stage_state
     WHERE schema_name = 'swept.live'`,
  )
  if (!stage) throw new Error('there is no such stage')
  await createLoadingSchema(wharf.container.system, stage, 'arriving')
  expect(await shadowSchemas('swept')).toHaveLength(2)
  await sweepShadowSchemas(wharf.container, createLogger('silent'))
  expect(await shadowSchemas('swept')).toHaveLength(1)
  await expectImported('swept', await coming.finish())
  expect(await tableOf('swept')).toBe(table)
})

test('an archive that arrives too slowly keeps no transaction open, and is loaded when it is whole', async () => {
  await createProject(wharf, 'slow', STRUCTURE + OLD)
  const loaded: number[] = []
  async function* slowly(): AsyncGenerator<Buffer> {
    yield Buffer.from(archive.slice(0, cut))
    await expect.poll(() => loaded.length).toBeGreaterThan(0)
    await noTransactionStaysOpen(wharf)
    yield Buffer.from(archive.slice(cut))
  }
  await importArchive(wharf.container, (use) => use(slowly()), {
    targetsOf: () => ['slow'],
    tokenId: null,
    authorise: async () => ROOT,
    signal: new AbortController().signal,
    onRows: ({ rows }) => void loaded.push(rows),
    maxWaitMs: 1_000,
  })
  expect(comparableLines(await exportOf(wharf.root, 'slow'))).toEqual(comparableLines(archive))
  const begunAgain = loaded.findIndex((rows, index) => rows < (loaded[index - 1] ?? 0))
  expect(begunAgain).toBeGreaterThan(0)
  expect(loaded.at(-1)).toBe(10_010)
})
