import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createArchiveWriter } from '../../src/archive/archive-writer.ts'
import { readArchive } from '../../src/archive/read-archive.ts'
import { verifyArchive } from '../../src/archive/verify-archive.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import {
  collect,
  collectItems,
  cutAt,
  EVENT,
  EVENT_ROWS_TEXT,
  ROWS_TEXT,
  sampleLines,
  streamOf,
} from '../support/archives/archive-sample.ts'
import { rowLines } from '../support/archives/row-lines.ts'

const lines = sampleLines()
const bytes = Buffer.concat(lines)

test('what was written is read again, line by line, with its line numbers', async () => {
  const items = await collectItems(readArchive(streamOf(bytes), copyText))
  const kinds = items.map((item) => item.kind)
  expect(kinds.slice(0, 9)).toEqual([
    'archive',
    'project',
    'system',
    'role',
    'event',
    'event',
    'systemEnd',
    'stage',
    'enum',
  ])
  for (const item of items) {
    const written = JSON.parse(String(lines[item.line - 1]))
    expect(Object.keys(written)).toEqual([item.kind])
    if (item.kind !== 'row' && item.kind !== 'event') expect(item.content).toMatchObject(written[item.kind])
  }
  expect(items).toContainEqual({ kind: 'row', line: 17, table: 'album', count: 3, text: ROWS_TEXT.join('') })
  const { rows, ...content } = EVENT
  const [event] = items.filter((item) => item.kind === 'event')
  expect(event).toMatchObject({ line: 5, content })
  expect(String(event?.rows)).toBe(EVENT_ROWS_TEXT)
})

test('lists and permissions that were left out are empty once read, and empty ones are left out', async () => {
  const items = await collectItems(readArchive(streamOf(bytes), copyText))
  const table = items.find((item) => item.kind === 'table')
  expect(table?.content).toMatchObject({ unique: [], checks: [], foreignKeys: [], exclusions: [], indexes: [] })
  const role = items.find((item) => item.kind === 'role')
  expect(role?.content.system).toEqual({ export: false, import: false })
  expect(String(bytes)).not.toContain('foreignKeys')
  expect(String(bytes)).toContain('{"table":{"name":"empty","columns":[]}}')
})

test('verifying tells what is in the archive', async () => {
  const packed = gzipSync(bytes)
  expect(await verifyArchive(streamOf(packed), copyText)).toEqual({
    version: 1,
    createdAt: '2026-11-20T21:00:00.000Z',
    snapshotAt: '2026-11-20T21:00:00.000Z',
    generator: 'wharf/1.0.0',
    projects: [
      {
        slug: 'shop',
        targetSlug: 'shop-staging',
        system: true,
        roles: 1,
        events: 2,
        stages: [
          {
            slug: 'live',
            tables: [
              { name: 'album', rows: 3 },
              { name: 'empty', rows: 0 },
            ],
            rows: 3,
            complete: false,
            extensions: [],
            notExported: [{ kind: 'view', name: 'best_albums' }],
          },
        ],
      },
      { slug: 'blog', system: false, roles: 0, events: 0, stages: [] },
    ],
    rows: 3,
    lines: lines.length,
    bytes: packed.length,
  })
})

test('sums are those of the lines, newlines included', () => {
  const sum = (pattern: RegExp) =>
    createHash('sha256')
      .update(lines.filter((line) => pattern.test(String(line))).join(''))
      .digest('hex')
  const ends = lines.map((line) => JSON.parse(String(line)))
  expect(ends.find((line) => line.systemEnd)?.systemEnd).toEqual({
    roles: 1,
    events: 2,
    sha256: sum(/^{"(role|event)"/),
  })
  expect(ends.find((line) => line.rowsEnd)?.rowsEnd).toEqual({ table: 'album', rows: 3, sha256: sum(/^{"row":/) })
})

test('reads the same, however the bytes are cut, compressed or not', async () => {
  const itemsOf = (chunks: Buffer[]) => collectItems(readArchive(streamOf(...chunks), copyText))
  const whole = await itemsOf([bytes])
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(cuts, fc.boolean(), async (positions, packed) => {
      const chunks = cutAt(packed ? gzipSync(bytes) : bytes, positions)
      expect(await itemsOf(chunks)).toEqual(whole)
    }),
  )
})

test('a long table is read in batches, each the next lines of the file', async () => {
  const writer = createArchiveWriter()
  const at = '2026-11-20T21:00:00Z'
  const rows = Array.from({ length: 20_000 }, (_, index) => [index, `${index} é`.repeat(3)])
  const archive = Buffer.concat([
    writer.open('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'test' }),
    writer.open('project', { slug: 'shop', system: false }),
    writer.open('stage', { slug: 'live' }),
    writer.open('table', {
      name: 'long',
      columns: [
        { name: 'id', type: 'integer', nullable: false },
        { name: 'text', type: 'text', nullable: true },
      ],
    }),
    writer.open('rows', { table: 'long', columns: ['id', 'text'] }),
    ...rows.map((row) => writer.rows(1, rowLines([row]))),
    ...(['rowsEnd', 'stageEnd', 'projectEnd', 'end'] as const).map((kind) => writer.close(kind)),
  ])
  const batches = (await collectItems(readArchive(streamOf(archive), copyText))).filter((item) => item.kind === 'row')
  expect(batches.length).toBeGreaterThan(3)
  expect(batches.map(({ text }) => text).join('')).toEqual(rows.map((row) => `${row.join('\t')}\n`).join(''))
  for (const { line, count, text } of batches) {
    expect(text).toMatch(new RegExp(`^${line - 6}\t`))
    expect(text.split('\n')).toHaveLength(count + 1)
  }
})

test('a byte-order mark, spaces, blank lines at the end and unknown fields are accepted', async () => {
  const spaced = String(bytes)
    .replace('{"stage":{', '{ "stage" : {"later":[1], ')
    .replace('"generator"', '"colour":"blue","generator"')
  const summary = await verifyArchive(streamOf(Buffer.from(`\uFEFF${spaced}\n \n`)), copyText)
  expect(summary.rows).toBe(3)
})

test('an archive with CR LF at its line ends counts as edited', async () => {
  const withCrLf = Buffer.from(String(bytes).replaceAll('\n', '\r\n'))
  await expect(verifyArchive(streamOf(withCrLf), copyText)).rejects.toThrow('CR LF')
  expect((await verifyArchive(streamOf(withCrLf), copyText, { allowEdited: true })).rows).toBe(3)
})

test('an edited archive is refused, unless edits are allowed', async () => {
  const edited = Buffer.from(
    String(bytes).replace(/{"row":\[3.*\n/, '{ "row": [4, "four", null, null, 1e3] }\n{"row":[5,"","jazz",true,-0]}\n'),
  )
  await expect(verifyArchive(streamOf(edited), copyText)).rejects.toThrow('line 21: counts 3 rows, but there are 4')
  const items = await collectItems(readArchive(streamOf(edited), copyText, { allowEdited: true }))
  expect(items).toContainEqual({
    kind: 'row',
    line: 17,
    table: 'album',
    count: 4,
    text: [ROWS_TEXT[0], ROWS_TEXT[1], '4\tfour\t\\N\t\\N\t1000\n', '5\t\tjazz\tt\t-0\n'].join(''),
  })
})

test('a writer that is used out of order throws a mistake, not an expected failure', () => {
  const writer = createArchiveWriter()
  expect(() => writer.close('end')).toThrow(
    'written wrongly: a line of kind "end" cannot stand here; expected "archive"',
  )
  expect(() => writer.open('project', { slug: 'No Slug', system: false })).toThrow('project.slug')
  expect(() => createArchiveWriter().rows(1, rowLines([[1]]))).toThrow(Error)
})

test('reading stops when its signal is aborted, and closes the source', async () => {
  const controller = new AbortController()
  let closed = false
  async function* source() {
    try {
      yield* lines
    } finally {
      closed = true
    }
  }
  controller.abort(new Error('enough'))
  await expect(collect(readArchive(source(), copyText, { signal: controller.signal }))).rejects.toThrow('enough')
  expect(closed).toBe(true)
})
