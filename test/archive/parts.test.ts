import { createHash, randomBytes } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createArchiveWriter } from '../../src/archive/archive-writer.ts'
import { compressArchive } from '../../src/archive/compress-archive.ts'
import { readArchive } from '../../src/archive/read-archive.ts'
import { createStructureLimit } from '../../src/archive/structure-limit.ts'
import { verifyArchive } from '../../src/archive/verify-archive.ts'
import { copyBinary, copyText } from '../../src/copy/copy-encoders.ts'
import { borrowed, copied } from '../../src/lib/borrowed-bytes.ts'
import { checkArchive } from '../../src/transfer/import/receive-archive.ts'
import { collect, collectItems, linesOf, streamOf } from '../support/archives/archive-sample.ts'
import { rowLines } from '../support/archives/row-lines.ts'

/** The parts of a table, each with its rows; `undefined` for a section without a number. */
interface WrittenTable {
  readonly name: string
  readonly parts: readonly (readonly string[])[]
  readonly isNumbered?: boolean
}

/** An archive of tables with one column of text, in the pieces in which it is written. */
function write(...tables: readonly WrittenTable[]): Buffer[] {
  const writer = createArchiveWriter()
  const at = '2026-11-20T21:00:00.000Z'
  const columns = [{ name: 'v', type: 'text', nullable: true }]
  return [
    writer.open('archive', { version: 2, createdAt: at, snapshotAt: at, generator: 'by-hand/1' }),
    writer.open('project', { slug: 'shop', system: false }),
    writer.open('stage', { slug: 'live' }),
    ...tables.map(({ name }) => writer.open('table', { name, columns })),
    ...tables.flatMap(({ name, parts, isNumbered = true }) =>
      parts.flatMap((rows, index) => [
        writer.open('rows', { table: name, columns: ['v'], ...(isNumbered && { part: index + 1 }) }),
        writer.rows(rows.length, rowLines(rows.map((value) => [value]))),
        writer.close('rowsEnd', { last: index === parts.length - 1 }),
      ]),
    ),
    ...(['stageEnd', 'projectEnd', 'end'] as const).map((kind) => writer.close(kind)),
  ]
}

const pieces = write(
  { name: 'album', parts: [['a', 'b'], [], ['c'], ['d']] },
  { name: 'artist', parts: [['e']] },
  { name: 'empty', parts: [[]] },
  { name: 'old', parts: [['f']], isNumbered: false },
)
const bytes = Buffer.concat(pieces)
const lines = linesOf(bytes).map(String)

test('the parts of a table are one table, and each has a count and a sum of its own', async () => {
  const summary = await verifyArchive(streamOf(bytes), copyText)
  expect(summary.projects[0]?.stages[0]).toMatchObject({
    rows: 6,
    tables: [
      { name: 'album', rows: 4 },
      { name: 'artist', rows: 1 },
      { name: 'empty', rows: 0 },
      { name: 'old', rows: 1 },
    ],
  })
  const sum = (...values: string[]) =>
    createHash('sha256')
      .update(values.map((value) => `{"row":["${value}"]}\n`).join(''))
      .digest('hex')
  const ends = (await collectItems(readArchive(streamOf(bytes), copyText))).filter(({ kind }) => kind === 'rowsEnd')
  expect(ends.map((item) => 'content' in item && item.content)).toEqual([
    { table: 'album', part: 1, rows: 2, sha256: sum('a', 'b') },
    { table: 'album', part: 2, rows: 0, sha256: sum() },
    { table: 'album', part: 3, rows: 1, sha256: sum('c') },
    { table: 'album', part: 4, rows: 1, sha256: sum('d'), last: true },
    { table: 'artist', part: 1, rows: 1, sha256: sum('e'), last: true },
    { table: 'empty', part: 1, rows: 0, sha256: sum(), last: true },
    { table: 'old', rows: 1, sha256: sum('f') },
  ])
  expect(lines.at(-4)).toContain('"rowsEnd":{"table":"old","rows":1,')
  expect(lines.at(-3)).toContain('{"slug":"live","tables":4,"rows":6}')
})

/** The archive with the lines of one section, in place of which come others. */
function withSections(change: (sections: readonly string[][]) => readonly (readonly string[])[]): Buffer {
  const first = lines.findIndex((line) => line.startsWith('{"rows"'))
  const end = lines.findIndex((line) => line.startsWith('{"stageEnd"'))
  const sections: string[][] = []
  for (const line of lines.slice(first, end)) {
    if (line.startsWith('{"rows"')) sections.push([])
    sections.at(-1)?.push(line)
  }
  return Buffer.from([...lines.slice(0, first), ...change(sections).flat(), ...lines.slice(end)].join(''))
}

const edit = (at: number, from: string | RegExp, to: string) =>
  withSections((sections) =>
    sections.map((section, index) => (index === at ? section.map((line) => line.replace(from, to)) : section)),
  )

const FAULTS: readonly [name: string, archive: Buffer, detail: string][] = [
  [
    'two parts in another order',
    withSections(([a = [], b = [], c = [], ...rest]) => [a, c, b, ...rest]),
    'part 3 where part 2',
  ],
  ['a part that is missing', withSections(([a = [], , ...rest]) => [a, ...rest]), 'part 3 where part 2'],
  ['a part twice', withSections(([a = [], ...rest]) => [a, a, ...rest]), 'part 1 where part 2'],
  ['no first part', withSections(([, ...rest]) => rest), 'part 2 where part 1'],
  [
    'no last part, and another table',
    withSections((sections) => sections.filter((_, index) => index !== 3)),
    'table "artist" has its rows where the next part of table "album" has to be',
  ],
  [
    'no last part, and the end',
    withSections((sections) => sections.slice(0, 3)),
    'a line of kind "stageEnd" cannot stand here; expected "rows"',
  ],
  [
    'rows of another table between parts',
    withSections(([a = [], b = [], c = [], d = [], artist = [], ...rest]) => [a, b, artist, c, d, ...rest]),
    'table "artist" has its rows where the next part of table "album" has to be',
  ],
  [
    'a part after the last',
    withSections((sections) =>
      sections.map((section, at) => (at === 4 ? [...section, ...(sections[3] ?? [])] : section)),
    ),
    'table "album" has its part 4 where part 1 has to be',
  ],
  [
    'a first part after the last',
    withSections((sections) => [...sections, ...sections.slice(0, 1)]),
    'table "album" is not described in this stage, or its rows came before',
  ],
  [
    'other columns in a part',
    edit(1, '"columns":["v"]', '"columns":["w"]'),
    'part 2 of table "album" has other columns',
  ],
  ['fewer columns in a part', edit(1, '"columns":["v"]', '"columns":[]'), 'part 2 of table "album" has other columns'],
  ['a part without its number', edit(1, ',"part":2', ''), 'rows without "part" where part 2 has to be'],
  [
    'a part that ends as another',
    edit(1, '"part":2,"rows":0', '"part":3,"rows":0'),
    'closes part 3, but part 2 is open',
  ],
  ['a part that ends without its number', edit(1, '"part":2,"rows":0', '"rows":0'), 'but part 2 is open'],
  ['an end with a number alone', edit(6, '"rows":1', '"part":1,"rows":1'), 'but a section without "part" is open'],
  ['a number from 0', edit(0, '"part":1', '"part":0'), 'rows.part'],
  ['a number that is none', edit(0, '"part":1', '"part":"1"'), 'rows.part'],
  ['half a number', edit(0, '"part":1', '"part":1.5'), 'rows.part'],
  ['an end that is no flag', edit(3, '"last":true', '"last":1'), 'rowsEnd.last'],
  ['an end that is not the last', edit(3, ',"last":true', ''), 'table "artist" has its rows where'],
  ['an end too early', edit(1, /(?<="rowsEnd".*)\}\}/, ',"last":true}}'), 'part 3 where part 1'],
]

test.each(FAULTS)('refuses %s, in an edited archive too', async (_, archive, detail) => {
  for (const allowEdited of [false, true]) {
    await expect(verifyArchive(streamOf(archive), copyText, { allowEdited })).rejects.toMatchObject({
      code: 'ARCHIVE_INVALID',
      message: expect.stringContaining(detail),
    })
  }
})

test('the sum of each part is checked', async () => {
  for (const value of ['a', 'c', 'd', 'e', 'f']) {
    const archive = Buffer.from(String(bytes).replace(`{"row":["${value}"]}`, '{"row":["x"]}'))
    await expect(verifyArchive(streamOf(archive), copyText)).rejects.toThrow('another sum')
    expect(await verifyArchive(streamOf(archive), copyText, { allowEdited: true })).toMatchObject({ rows: 6 })
  }
})

test('of sections with rows, there may be only so many', () => {
  const limit = createStructureLimit({ lines: 1, bytes: 1, values: 1, projects: 1, parts: 2 })
  const size = { bytes: 1_000, values: 1_000 }
  expect([limit('rows', size), limit('rows', size)]).toEqual([undefined, undefined])
  expect(limit('rows', size)).toContain('2 parts of tables')
})

test('all parts of a table are loaded by one COPY, or by two where a value has to be text', async () => {
  const [project] = await checkArchive(streamOf(bytes), { encoders: copyBinary })
  const tables = project?.stages[0]?.tables
  expect(tables?.map(({ name, copies }) => [name, copies.map(({ rows, partStarts }) => [rows, partStarts])])).toEqual([
    ['album', [[4, [2, 2, 3]]]],
    ['artist', [[1, []]]],
    ['empty', []],
    ['old', [[1, []]]],
  ])
  // A row that is not written as Wharf writes rows.
  const edited = Buffer.from(String(bytes).replace('{"row":["c"]}', '{ "row" : ["c"] }'))
  const [other] = await checkArchive(streamOf(edited), { encoders: copyBinary, allowEdited: true })
  expect(other?.stages[0]?.tables[0]?.copies).toMatchObject([
    { format: 'binary', rows: 2 },
    { format: 'text', rows: 2 },
  ])
})

test('a later writer may say in the last line, and beside the members of gzip, where parts are', async () => {
  const later = String(bytes).replace('{"end":{', '{"end":{"members":[{"table":"album","part":1,"at":[0,512]}],')
  const [head, ...rest] = [gzipSync(later.slice(0, 500)), gzipSync(''), gzipSync(later.slice(500)), gzipSync('')]
  if (!head) throw new Error('nothing was compressed')
  // FEXTRA, and six bytes of it (RFC 1952, section 2.3.1).
  const extra = Buffer.from([6, 0, 0x77, 0x70, 2, 0, 1, 2])
  head[3] = 4
  const packed = Buffer.concat([head.subarray(0, 10), extra, head.subarray(10), ...rest])
  expect(String(gunzipSync(packed))).toBe(later)
  expect(await verifyArchive(streamOf(packed), copyText)).toMatchObject({ rows: 6 })
})

test('each part of a table stands whole in one member, or begins and ends where members do', async () => {
  const value = (length: number) => randomBytes(Math.ceil(length / 2)).toString('hex')
  const lengths = fc.array(fc.array(fc.integer({ min: 0, max: 1_500_000 }), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 4,
  })
  await fc.assert(
    fc.asyncProperty(lengths, async (tables) => {
      const small = Array.from({ length: 300 }, (_, n) => ({ name: `s${n}`, parts: [['1', '2']] }))
      const archive = write(
        ...small,
        ...tables.map((parts, n) => ({ name: `t${n}`, parts: parts.map((length) => [value(length)]) })),
      )
      const members = await collect(copied(compressArchive(borrowed(streamOf(...archive)))))
      expect(Buffer.concat(members.map((member) => gunzipSync(member))).equals(Buffer.concat(archive))).toBe(true)
      const large = tables.flat().filter((length) => length > 1_000_000).length
      expect(members.length).toBeLessThanOrEqual(1 + tables.flat().length + 2 * large)
      for (const member of members) {
        const text = String(gunzipSync(member))
        const [begun, ended] = [text.match(/^\{"rows":/gm)?.length, text.match(/^\{"rowsEnd":/gm)?.length]
        if (begun === ended) continue
        // The beginning, the middle or the end of one part, and nothing else.
        expect([begun ?? 0, ended ?? 0].toSorted()).toEqual([0, 1])
        expect(begun === undefined || text.startsWith('{"rows":')).toBe(true)
        expect(ended === undefined || text.split('\n').at(-2)?.startsWith('{"rowsEnd":')).toBe(true)
      }
    }),
    { numRuns: 12 },
  )
})
