import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compressArchive } from '../../../src/archive/compress-archive.ts'
import { readArchive } from '../../../src/archive/read-archive.ts'
import { copyText } from '../../../src/copy/copy-encoders.ts'
import { borrowed, copied } from '../../../src/lib/borrowed-bytes.ts'
import { type Contents, compareContents, readContents } from '../../../src/workers/verify-contents.ts'
import { collect, streamOf } from '../../support/archives/archive-sample.ts'
import { linesOf, tablesOf } from '../../support/archives/archive-text.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** One row to a block: a part is of 4,096 of them. The second table has a value that is stored out of line. */
const SCRIPT = `
  CREATE TABLE gaps (n integer, t text) WITH (fillfactor = 10, autovacuum_enabled = false);
  ALTER TABLE gaps ALTER t SET STORAGE PLAIN;
  INSERT INTO gaps SELECT n, repeat('x', 500) FROM generate_series(1, 9000) n;
  DELETE FROM gaps WHERE n BETWEEN 3000 AND 8192;
  CREATE TABLE toasted (n integer, t text) WITH (fillfactor = 10, autovacuum_enabled = false);
  ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL;
  INSERT INTO toasted SELECT n, repeat('x', CASE n WHEN 4150 THEN 9000 ELSE 500 END) FROM generate_series(1, 4200) n;`

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', SCRIPT)
  archive = await exportOf(wharf.root, 'shop', { system: false })
})
afterAll(() => wharf?.close())

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)

test('a part has the rows of so many blocks, and blocks without rows have none', () => {
  const parts = tablesOf(archive).map(({ name, rows, count }) => ({ name, count, n: rows.map(([n]) => n) }))
  expect(parts).toEqual([
    { name: 'gaps', count: 2999, n: numbers(1, 2999) },
    { name: 'gaps', count: 808, n: numbers(8193, 9000) },
    { name: 'toasted', count: 4096, n: numbers(1, 4096) },
    { name: 'toasted', count: 104, n: numbers(4097, 4200) },
  ])
})

test('a table that grows by what nobody sees has the same parts', async () => {
  const grow = `INSERT INTO gaps SELECT n, repeat('y', 500) FROM generate_series(1, 4000) n; SELECT 1 / 0`
  expect((await applyScript(wharf, 'shop', grow)).status).toBe(422)
  const [size] = await wharf.database.query<{ blocks: number }>(
    `SELECT (pg_relation_size('"shop.live".gaps') / 8192)::int AS blocks`,
  )
  expect(size?.blocks).toBeGreaterThan(3 * 4096)
  expect(comparableLines(await exportOf(wharf.root, 'shop', { system: false }))).toEqual(comparableLines(archive))
})

test('an archive that is compressed has its parts in members of their own', async () => {
  const { bytes } = await wharf.root.post('/export', {
    json: { projects: [{ slug: 'shop' }] },
    headers: { 'accept-encoding': 'gzip' },
  })
  const lines = linesOf(gunzipSync(bytes).toString()).map((line) => Buffer.from(line))
  expect(Buffer.concat(await collect(copied(compressArchive(borrowed(streamOf(...lines)))))).equals(bytes)).toBe(true)
})

const contentsOf = (text: string): Promise<Contents> =>
  readContents(readArchive(streamOf(Buffer.from(text)), copyText, { allowEdited: true }))

test('rows that come back in other parts are the same rows, and a proof sees others', async () => {
  await createProject(wharf, 'copy')
  expect((await sendArchive(wharf.root, archive, { query: '?targetSlug=copy' })).status).toBe(200)
  const restored = await exportOf(wharf.root, 'copy', { system: false })
  expect(tablesOf(restored).map(({ name, count }) => [name, count])).toEqual([
    ['gaps', 3807],
    ['toasted', 4096],
    ['toasted', 104],
  ])
  const original = await contentsOf(archive)
  expect(await compareContents(original, await contentsOf(restored))).toEqual([])
  const [one = '', other = ''] = linesOf(restored).filter((line) => /^\{"row":\[850[01],/.test(line))
  for (const [changed, how] of [
    [restored.replace(one, ''), 'the archive has 3807, and 3806 came back'],
    [restored.replace(one + other, other + one), 'all 3807 came back, but not with the same values'],
  ] as const) {
    expect(await compareContents(original, await contentsOf(changed), ['gap'])).toEqual([
      { detail: `the rows of table "gaps" of stage "live" of project "gap" are not the same: ${how}` },
    ])
  }
})

test('a value that a column refuses is told by its line, in whichever part and form', async () => {
  const [before = '', n = '', after = ''] = archive.split(/(?<=\{"row":\[)(8500)/)
  const line = linesOf(before).length
  for (const value of ['"x"', '99999999999']) {
    const answer = await sendArchive(wharf.root, `${before}${value}${after}`, { query: '?allowEdited=true' })
    expect([n, answer.status, answer.json]).toMatchObject([
      '8500',
      400,
      { detail: expect.stringContaining(`line ${line}: `) },
    ])
  }
})
