import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventItem } from '../../src/archive/archive-item.ts'
import { LineReader } from '../../src/archive/line-reader.ts'
import { readArchive } from '../../src/archive/read-archive.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import { lineBlocks } from '../../src/lib/line-blocks.ts'
import { cutAt, streamOf } from '../support/archives/archive-sample.ts'
import { isThorough } from '../support/thorough.ts'

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE
const at = '2026-11-20T21:00:00.000Z'

const line = (kind: string, content: unknown): string => `${JSON.stringify({ [kind]: content })}\n`
const BEGINNING = [
  line('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'by-hand/1' }),
  line('project', { slug: 'shop', system: true }),
  line('system', {}),
].join('')
const END = [
  line('systemEnd', { roles: 0, events: 1, sha256: '0'.repeat(64) }),
  line('projectEnd', { slug: 'shop' }),
  line('end', { projects: 1, rows: 0 }),
].join('')

const EVENT = {
  id: randomUUID(),
  stage: 'live',
  kind: 'update',
  table: 'item',
  key: ['id', 'ключ"\\'],
  token: randomUUID(),
  occurredAt: '2026-11-20T20:59:59.123456Z',
}

/** @param event as JSON. */
const archiveOf = (event: string): Buffer => Buffer.from(`${BEGINNING}{"event":${event}}\n${END}`)

/** @returns the one event of an archive; the message where it is refused. */
async function read(archive: Buffer, positions: readonly number[] = []): Promise<EventItem | string> {
  try {
    const items: EventItem[] = []
    for await (const item of readArchive(streamOf(...cutAt(archive, positions)), copyText, { allowEdited: true })) {
      if (item.kind === 'event') items.push(item)
    }
    const [only] = items
    return only ?? 'no event'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The rows of an event as COPY and then PostgreSQL's array type read them. */
function rowsOf({ rows }: EventItem): string[] | undefined {
  const array = rows && Buffer.concat(rows).toString().replace(/\\(.)/g, unescapeCopy)
  return (
    array && JSON.parse(`[${array.slice(1, -1).replace(/[\b\f\n\r\t]/g, (each) => JSON.stringify(each).slice(1, -1))}]`)
  )
}

const COPY_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }
const unescapeCopy = (_: string, letter: string): string => COPY_ESCAPES[letter] ?? letter

const text = fc
  .array(fc.oneof(fc.constantFrom(...'"\\/\b\n\t', 'é', '東', '🎸', '\u2028'), fc.string()), { maxLength: 12 })
  .map((some) => some.join('').replaceAll('\0', ''))
const row = fc.oneof(
  fc.record({ id: fc.integer(), name: text }).map((value) => JSON.stringify(value)),
  fc.constantFrom('1', 'null', '[]', '{"a": [1.5e300, true]}'),
)

/** The members of an event, in any order. */
const orders = fc.shuffledSubarray(['id', 'stage', 'kind', 'table', 'key', 'rows', 'token', 'occurredAt'], {
  minLength: 8,
})

test('an event that comes in pieces is read as it is, in whatever order its members are, wherever it is cut', async () => {
  const long = JSON.stringify({ text: 'x'.repeat(300 * KIBIBYTE) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 8 }),
      orders,
      fc.nat({ max: 8 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 }),
      async (some, order, position, cuts) => {
        const rows = [...some.slice(0, position), long, ...some.slice(position)]
        const event: Readonly<Record<string, unknown>> = { ...EVENT, rows }
        const json = JSON.stringify(Object.fromEntries(order.map((name) => [name, event[name]])))
        const item = await read(archiveOf(json), cuts)
        if (typeof item === 'string') throw new Error(item)
        expect(item.content).toEqual(EVENT)
        expect(rowsOf(item)).toEqual(rows)
      },
    ),
    { numRuns: 20 },
  )
})

test.each([0, 1, 999])('an event of %i bytes more than is parsed as a whole is read as one of fewer', async (more) => {
  for (const bytes of [200 * KIBIBYTE, 256 * KIBIBYTE + more]) {
    const rows = Array.from({ length: 20 }, (_, n) => JSON.stringify(`${n}"\n🎸${'é'.repeat(bytes / 40)}`))
    const item = await read(archiveOf(JSON.stringify({ ...EVENT, rows })))
    if (typeof item === 'string') throw new Error(item)
    expect(item.content).toEqual(EVENT)
    expect(rowsOf(item)).toEqual(rows)
  }
})

const LONG = JSON.stringify('x'.repeat(300 * KIBIBYTE))
const withRows = (rows: string, others = ''): string =>
  `{"id":"${EVENT.id}","stage":"live","kind":"update","occurredAt":"${at}"${others},"rows":[${rows}]}`

test.each([
  ['a row that is no JSON', withRows(`${JSON.stringify(LONG)},"{"`), 'event.rows.1: must be JSON'],
  ['a row that is no text', withRows(`${JSON.stringify(LONG)},1`), 'event.rows'],
  ['a character that cannot be stored', withRows(JSON.stringify(LONG).replace('xx', '\\ud800')), 'cannot store'],
  ['the same list twice', withRows(JSON.stringify(LONG), ',"rows":["1"]'), 'the same key twice'],
  ['a list of a name that ends like rows', withRows(JSON.stringify(LONG), ',"x\\"rows":["1"]'), 'event.rows'],
  ['a member that is very long', withRows('"1"', `,"x":${JSON.stringify('x'.repeat(600_000))}`), 'besides its rows'],
  ['two rows without a comma', withRows(`${JSON.stringify(LONG)} "1"`), 'is not JSON'],
  ['a row that does not end', withRows(`${JSON.stringify(LONG).slice(0, -1)}`), 'is not JSON'],
])('a long event with %s is refused', async (_, event, says) => {
  const message = await read(archiveOf(event))
  expect(message).toMatch(/^line 4: /)
  expect(message).toContain(says)
})

/** So much of a line may be worked on at once; of a row, one MiB is held. */
const MOST = { event: 512 * KIBIBYTE, row: 2 * MEBIBYTE }

/** Times how long a line is: several times what may be worked on at once. */
const LENGTH = isThorough ? 8 : 3

const TABLE = [
  line('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'by-hand/1' }),
  line('project', { slug: 'shop', system: false }),
  line('stage', { slug: 'live' }),
  line('table', { name: 't', columns: [{ name: 'a', type: 'text', nullable: true }] }),
  line('rows', { table: 't', columns: ['a'] }),
].join('')

test.each([
  [
    'event',
    'of one row',
    `${BEGINNING}{"event":${withRows(JSON.stringify(JSON.stringify('"'.repeat(LENGTH * MEBIBYTE))))}}\n`,
  ],
  [
    'event',
    'of many rows',
    `${BEGINNING}{"event":${withRows(`"1"${`,"${'1'.repeat(400)}"`.repeat(LENGTH * 9_000)}`)}}\n`,
  ],
  ['row', 'as Wharf writes it', `${TABLE}{"row":["${'é\\n'.repeat(LENGTH * MEBIBYTE)}"]}\n`],
  ['row', 'with spaces', `${TABLE}{"row": ["${'é\\n'.repeat(LENGTH * MEBIBYTE)}"]}\n`],
] as const)(
  'no more than a little of a long %s %s is worked on before others have a turn',
  async (kind, _, archive) => {
    const maxLineBytes = 64 * MEBIBYTE
    const reader = new LineReader(
      { maxLineBytes, maxEventLineBytes: maxLineBytes, maxStructureLineBytes: 4 * MEBIBYTE, allowEdited: true },
      copyText,
    )
    const chunks = streamOf(
      ...cutAt(
        Buffer.from(archive),
        Array.from({ length: 99 }, (_, n) => n / 99),
      ),
    )
    let [longest, steps, read] = [0, 0, 0]
    for await (const block of lineBlocks(chunks, (beginning) => reader.limitOf(beginning))) {
      longest = Math.max(longest, block.length)
      read += block.length
      for (const item of reader.read(block)) steps += item?.kind === 'archive' ? 0 : 1
    }
    expect(read).toBe(Buffer.byteLength(archive))
    expect(longest).toBeLessThan(MOST[kind])
    expect(steps).toBeGreaterThan(read / (256 * KIBIBYTE))
  },
)
