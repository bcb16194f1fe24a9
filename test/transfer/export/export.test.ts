import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quoteQualified } from '../../../src/database/quoting.ts'
import { readVersion } from '../../../src/version.ts'
import { linesOf, tablesOf } from '../../support/archives/archive-text.ts'
import { exportOf } from '../../support/archives/import.ts'
import { isInstalled } from '../../support/processes/is-installed.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** Scripts of whole databases; those that are not part of the project may be missing. */
const DATABASES = [
  { slug: 'harbour', path: '../../../demo/harbour.sql' },
  { slug: 'chinook', path: '../../../../shared/data/chinook/chinook.sql' },
  { slug: 'northwind', path: '../../../../shared/data/northwind/northwind.sql' },
]
  .map(({ slug, path }) => ({ slug, path: fileURLToPath(new URL(path, import.meta.url)) }))
  .filter(({ path }) => existsSync(path))

let wharf: TestWharf
let folder: string

beforeAll(async () => {
  wharf = await startWharf()
  folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await wharf.close()
})

/** Runs a command line as a user would; `$1` and so on are the arguments. */
function shell(commands: string, ...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', commands, 'sh', ...args], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 1024 ** 3,
  })
  if (status !== 0) throw new Error(`${commands}: ${stderr}`)
  return stdout
}

const withoutFirstLine = (text: string): string => text.slice(text.indexOf('\n'))

describe.each(DATABASES)('$slug', ({ slug, path }) => {
  let archive: string
  let compressed: Buffer

  beforeAll(async () => {
    await createProject(wharf, slug, await readFile(path, 'utf8'))
    archive = await exportOf(wharf.root, slug)
    const headers = { 'content-encoding': 'gzip' }
    compressed = (await wharf.root.post('/export', { json: { projects: [{ slug }] }, headers })).bytes
    await writeFile(join(folder, `${slug}.jsonl`), archive)
    await writeFile(join(folder, `${slug}.jsonl.gz`), compressed)
  })

  test('has every table with as many rows as SQL counts', async () => {
    const tables = await wharf.database.query<{ name: string }>(
      'SELECT tablename::text AS name FROM pg_tables WHERE schemaname = $1',
      [`${slug}.live`],
    )
    const counted = await Promise.all(
      tables.map(async ({ name }) => {
        const from = quoteQualified(`${slug}.live`, name)
        const [row] = await wharf.database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${from}`)
        return [name, row?.n]
      }),
    )
    const archived = tablesOf(archive)
    expect(archived.length).toBeGreaterThan(3)
    expect(Object.fromEntries(archived.map(({ name, rows }) => [name, rows.length]))).toEqual(
      Object.fromEntries(counted),
    )
    expect(archived.map(({ count }) => count)).toEqual(archived.map(({ rows }) => rows.length))
    expect(JSON.parse(linesOf(archive).at(-1) ?? '')).toEqual({
      end: { projects: 1, rows: archived.reduce((sum, { count }) => sum + count, 0) },
    })
  })

  test("has each table's sum over its row lines, as grep and sha256sum find it", () => {
    const file = join(folder, `${slug}.jsonl`)
    const bySum = isInstalled('sha256sum')
    const cut = `sed -n "/^{\\"rows\\":{\\"table\\":\\"$2\\",.*\\"part\\":1}}$/,/^{\\"rowsEnd\\"/p" "$1"`
    const found = tablesOf(archive).map(({ name, lines }) =>
      bySum
        ? shell(`${cut} | { grep '^{"row":' || true; } | sha256sum`, file, name).split(' ')[0]
        : createHash('sha256').update(lines.join('')).digest('hex'),
    )
    expect(found).toEqual(tablesOf(archive).map(({ sha256 }) => sha256))
  })

  test('reads the same from its gzip form, with zcat and jq where they are there', () => {
    const file = join(folder, `${slug}.jsonl.gz`)
    const unpacked = isInstalled('zcat') ? shell('zcat < "$1"', file) : gunzipSync(compressed).toString()
    expect(withoutFirstLine(unpacked)).toBe(withoutFirstLine(archive))
    const expected = tablesOf(archive).reduce((sum, { rows }) => sum + rows.length, 0)
    const counted = isInstalled('jq')
      ? shell('zcat < "$1" | jq -c "select(.row)" | wc -l', file)
      : linesOf(unpacked).filter((line) => line.startsWith('{"row":')).length
    expect(Number(counted)).toBe(expected)
  })

  test('gives the same file again, but for the first line', async () => {
    const again = await wharf.root.post('/export', { json: { projects: [{ slug }] } })
    expect(withoutFirstLine(again.text)).toBe(withoutFirstLine(archive))
    expect(JSON.parse(linesOf(again.text)[0] ?? '')).toEqual({
      archive: {
        version: 2,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        snapshotAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        generator: `wharf/${readVersion()}`,
      },
    })
  })
})

test('one archive takes several projects, in the order in which they were asked for', async () => {
  await createProject(wharf, 'second', 'CREATE TABLE t AS SELECT 2 AS n')
  await createProject(wharf, 'first', 'CREATE TABLE t AS SELECT 1 AS n')
  const projects = [
    { slug: 'second', targetSlug: 'elsewhere' },
    { slug: 'first', system: true },
  ]
  const { text } = await wharf.root.post('/export', { json: { projects } })
  expect(tablesOf(text).map(({ path, rows }) => [path, rows])).toEqual([
    ['second/live/t', [[2]]],
    ['first/live/t', [[1]]],
  ])
  expect(linesOf(text).filter((line) => line.startsWith('{"project":'))).toEqual([
    '{"project":{"slug":"second","targetSlug":"elsewhere","system":false}}\n',
    '{"project":{"slug":"first","system":true}}\n',
  ])
})

test('takes only the stages that are named, and leaves named tables out with what refers to them', async () => {
  await createProject(
    wharf,
    'partly',
    `CREATE TABLE parent (id serial PRIMARY KEY);
     CREATE TABLE child (id int REFERENCES parent);
     INSERT INTO parent DEFAULT VALUES; INSERT INTO child VALUES (1)`,
  )
  await wharf.root.post('/projects/partly/stages', { json: { slug: 'draft' } })
  const projects = [{ slug: 'partly', stages: ['live'], excludeTables: ['parent'] }]
  const { text } = await wharf.root.post('/export', { json: { projects } })
  expect(tablesOf(text).map(({ path, rows }) => [path, rows])).toEqual([['partly/live/child', [[1]]]])
  expect(text).not.toContain('parent_id_seq')
  expect(text).toContain('"notExported":[{"kind":"foreign key","name":"child.child_id_fkey"')
  const all = await wharf.root.post('/export', { json: { projects: [{ slug: 'partly' }] } })
  expect(all.text).toContain('{"stage":{"slug":"draft","complete":true}}')
})

test('what is built on the rows of an excluded table is left out with it, and named', async () => {
  await createProject(
    wharf,
    'held',
    `CREATE TABLE a_row (id integer PRIMARY KEY); INSERT INTO a_row VALUES (1);
     CREATE TYPE pair AS (a a_row, b a_row); CREATE FUNCTION of_pair(pair) RETURNS integer LANGUAGE sql AS 'SELECT 1';
     CREATE TABLE holder (id integer PRIMARY KEY, p pair); INSERT INTO holder VALUES (1, NULL);
     CREATE TABLE other (id integer REFERENCES holder); INSERT INTO other VALUES (1)`,
  )
  const projects = [{ slug: 'held', excludeTables: ['a_row'] }]
  const refused = await wharf.root.post('/export', { json: { projects } })
  expect(refused.status, refused.text).toBe(409)
  const { text } = await wharf.root.post('/export', { json: { projects, allowIncomplete: true } })
  expect(tablesOf(text).map(({ path, rows }) => [path, rows])).toEqual([['held/live/other', [[1]]]])
  const stage = linesOf(text).find((line) => line.startsWith('{"stage":')) ?? ''
  const needs = 'needs the excluded table a_row'
  expect(JSON.parse(stage).stage.notExported).toEqual([
    { kind: 'composite', name: 'pair', detail: needs },
    { kind: 'foreign key', name: 'other.other_id_fkey', detail: 'refers to the excluded table holder' },
    { kind: 'function', name: 'of_pair(pair)', detail: needs },
    { kind: 'table', name: 'holder', detail: `${needs}; its rows are not exported either`, rows: true },
  ])
})

test('what an archive of several projects lacks is named with its project', async () => {
  const selections = [
    { slug: 'partly', stages: ['live'], excludeTables: ['parent'] },
    { slug: 'held', excludeTables: ['a_row'] },
  ]
  const { json } = await wharf.root.post('/export/dry-run', { json: { projects: selections } })
  expect(json).toMatchObject({
    notExported: [
      { project: 'partly', stage: 'live', kind: 'foreign key' },
      { project: 'held', stage: 'live', kind: 'composite' },
      ...[{ kind: 'foreign key' }, { kind: 'function' }, { kind: 'table' }],
    ],
  })
  const refused = await wharf.root.post('/export', { json: { projects: selections } })
  expect(refused.text).toContain('held/live: table holder')
  const alone = await wharf.root.post('/export/dry-run', { json: { projects: selections.slice(0, 1) } })
  expect(alone.text).not.toContain('"project"')
})

test('the system section has the roles, and the event log in the order of commit', async () => {
  await createProject(wharf, 'logged', 'CREATE TABLE t (id bigint PRIMARY KEY, note text)')
  await wharf.database.query('INSERT INTO "logged.live".t VALUES (9007199254740993), (9007199254740995)')
  await wharf.database.query('DELETE FROM "logged.live".t WHERE id < 9007199254740995')
  const text = await exportOf(wharf.root, 'logged', { system: true })
  const events = linesOf(text).filter((line) => line.startsWith('{"event":'))
  const common = { id: expect.any(String), stage: 'live', occurredAt: expect.stringMatching(/^2.*\.\d{6}Z$/) }
  const row = (id: bigint): string => `{"id":${id},"note":null}`
  const ofTable = { ...common, table: 't', key: ['id'] }
  expect(events.map((line) => JSON.parse(line).event)).toEqual([
    { ...common, kind: 'structure' },
    { ...common, kind: 'structure' },
    { ...ofTable, kind: 'create', rows: [row(9007199254740993n), row(9007199254740995n)] },
    { ...ofTable, kind: 'delete', rows: [row(9007199254740993n)] },
  ])
  const end = linesOf(text).find((line) => line.startsWith('{"systemEnd":'))
  expect(JSON.parse(end ?? '')).toMatchObject({ systemEnd: { roles: 4, events: 4 } })
})
