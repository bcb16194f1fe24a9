import type { ArchiveItem, RowBatch } from '../../../src/archive/archive-item.ts'
import { createArchiveWriter } from '../../../src/archive/archive-writer.ts'
import { toByteText } from '../../../src/lib/byte-text.ts'
import { rowLines } from './row-lines.ts'

export const EVENT = {
  id: '0191d0a4-7c1e-7b7a-9a54-1f2e3d4c5b6a',
  stage: 'live',
  kind: 'create',
  table: 'album',
  key: ['album_id'],
  rows: ['{"album_id":9007199254740993,"price":12345678901234567890.123}'],
  occurredAt: '2026-11-20T20:59:59.123456+00:00',
}

/** Its rows as an array of PostgreSQL, in the text format of COPY. */
export const EVENT_ROWS_TEXT = '{"{\\\\"album_id\\\\":9007199254740993,\\\\"price\\\\":12345678901234567890.123}"}'

export const ROWS = [
  [1, 'For Those About To Rock', 'rock', true, -0.5],
  [2, '"Balls"\n\\ to 日本 🎸', null, false, 'NaN'],
  [3, '', 'jazz', null, null],
]

/** The same in the text format of COPY, in which a backslash stands before special characters. */
export const ROWS_TEXT = [
  '1\tFor Those About To Rock\trock\tt\t-0.5\n',
  '2\t"Balls"\\n\\\\ to 日本 🎸\t\\N\tf\tNaN\n',
  '3\t\tjazz\t\\N\t\\N\n',
]

/** A small archive that has every kind of line, as its lines. */
export function sampleLines(): Buffer[] {
  const writer = createArchiveWriter()
  const at = '2026-11-20T21:00:00.000Z'
  const position = { start: '1', increment: '1', min: '1', max: '9223372036854775807', cache: '1', cycle: false }
  const pages = [
    writer.open('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'wharf/1.0.0' }),
    writer.open('project', { slug: 'shop', targetSlug: 'shop-staging', system: true }),
    writer.open('system', {}),
    writer.open('role', { name: 'editor', content: { read: true, write: true } }),
    writer.open('event', EVENT),
    writer.eventPage(1, toByteText(JSON.stringify({ ...EVENT, kind: 'import' }))),
    writer.close('systemEnd'),
    writer.open('stage', { slug: 'live', notExported: [{ kind: 'view', name: 'best_albums' }], complete: false }),
    writer.open('enum', { name: 'genre', values: ['rock', 'jazz'] }),
    writer.open('domain', { name: 'price', type: 'numeric(10,2)', nullable: true }),
    writer.open('composite', { name: 'size', attributes: [{ name: 'width', type: 'integer' }] }),
    writer.open('range', { name: 'price_range', subtype: 'price' }),
    writer.open('sequence', { name: 'album_id_seq', type: 'bigint', ...position, value: '3', called: true }),
    writer.open('table', {
      name: 'album',
      columns: [
        { name: 'album_id', type: 'integer', nullable: false, default: "nextval('album_id_seq'::regclass)" },
        { name: 'title', type: 'text', nullable: false },
        { name: 'loud', type: 'text', nullable: true, generated: 'upper(title)', generatedKind: 'stored' },
        { name: 'kind', type: 'genre', nullable: true },
        { name: 'sold', type: 'boolean', nullable: true },
        { name: 'gain', type: 'double precision', nullable: true },
      ],
      primaryKey: { name: 'album_pkey', definition: 'PRIMARY KEY (album_id)' },
    }),
    writer.open('table', { name: 'empty', columns: [] }),
    writer.open('rows', { table: 'album', columns: ['album_id', 'title', 'kind', 'sold', 'gain'] }),
    writer.rows(2, rowLines(ROWS.slice(0, 2))),
    writer.rows(1, rowLines(ROWS.slice(2, 3))),
    writer.rows(0, rowLines([])),
    writer.close('rowsEnd'),
    writer.open('rows', { table: 'empty', columns: [] }),
    writer.close('rowsEnd'),
    writer.close('stageEnd'),
    writer.close('projectEnd'),
    writer.open('project', { slug: 'blog', system: false }),
    writer.close('projectEnd'),
    writer.close('end'),
  ]
  return linesOf(Buffer.concat(pages))
}

/** Cuts bytes after every newline. */
export function linesOf(bytes: Buffer): Buffer[] {
  return bytes
    .toString('latin1')
    .split(/(?<=\n)/)
    .map((line) => Buffer.from(line, 'latin1'))
}

export async function* streamOf(...chunks: readonly Buffer[]): AsyncGenerator<Buffer, void, undefined> {
  yield* chunks
}

/** Cuts bytes at these positions, which are taken as shares of the length where they are fractions. */
export function cutAt(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = [
    0,
    ...positions.map((position) => Math.floor(position * bytes.length)).sort((a, b) => a - b),
    bytes.length,
  ]
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end))
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export type ReadItem = Exclude<ArchiveItem, RowBatch> | (Omit<RowBatch, 'format' | 'bytes'> & { readonly text: string })

/** Collects what an archive is read as. Rows are copied: their bytes are good for a moment only. */
export async function collectItems(items: AsyncIterable<ArchiveItem>): Promise<ReadItem[]> {
  const all: ReadItem[] = []
  for await (const item of items) all.push(item.kind === 'row' ? toText(item) : item)
  return all
}

const toText = ({ kind, line, table, count, bytes }: RowBatch): ReadItem => ({
  kind,
  line,
  table,
  count,
  text: bytes.now.toString(),
})
