import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { RowValue } from '../../../src/archive/lines.ts'
import { buildArchive, column, type ProjectToWrite, type StageToWrite } from '../../support/archives/archive-builder.ts'
import { linesOf } from '../../support/archives/archive-text.ts'
import { sendArchive } from '../../support/archives/import.ts'
import { type DatabaseState, readState } from '../../support/database/database-state.ts'
import type { ApiAnswer } from '../../support/http/api-client.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { numbers, someOf } from '../../support/thorough.ts'

const SHOP = `
  CREATE TABLE artist (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
  CREATE TABLE album (
    id integer PRIMARY KEY, artist_id integer NOT NULL REFERENCES artist, price numeric(10, 2) CHECK (price > 0), sold date);
  INSERT INTO artist VALUES (1, 'AC/DC'), (2, 'Accept');
  INSERT INTO album VALUES (1, 1, 9.99, '2026-01-01'), (2, 2, NULL, NULL);`

const ARTISTS = [
  [1, 'Aerosmith'],
  [2, 'Alanis Morissette'],
]
const ALBUMS = [[7, 2, '12.50', '1995-06-13']]

interface Rows {
  readonly artists?: readonly (readonly RowValue[])[]
  readonly albums?: readonly (readonly RowValue[])[]
}

/** A stage whose structure is that of SHOP. */
const shop = ({ artists = ARTISTS, albums = ALBUMS }: Rows = {}): StageToWrite => ({
  tables: [
    {
      name: 'artist',
      columns: [column('id', 'integer', { nullable: false }), column('name', 'text', { nullable: false })],
      primaryKey: { name: 'artist_pkey', definition: 'PRIMARY KEY (id)' },
      unique: [{ name: 'artist_name_key', definition: 'UNIQUE (name)' }],
      rows: artists,
    },
    {
      name: 'album',
      columns: [
        column('id', 'integer', { nullable: false }),
        column('artist_id', 'integer', { nullable: false }),
        column('price', 'numeric(10,2)'),
        column('sold', 'date'),
      ],
      primaryKey: { name: 'album_pkey', definition: 'PRIMARY KEY (id)' },
      checks: [{ name: 'album_price_check', definition: 'CHECK ((price > (0)::numeric))' }],
      foreignKeys: [
        {
          name: 'album_artist_id_fkey',
          definition: 'FOREIGN KEY (artist_id) REFERENCES artist(id)',
          references: 'artist',
        },
      ],
      rows: albums,
    },
  ],
})

const project = (slug: string, rows?: Rows, more: Partial<ProjectToWrite> = {}): ProjectToWrite => ({
  slug,
  stages: [shop(rows)],
  ...more,
})

const GOOD = buildArchive(project('shop'))
const good = linesOf(GOOD.toString())
const lineOf = (start: string): number => good.findIndex((line) => line.startsWith(`{"${start}"`))

/** The good archive with one line made another, or several. */
const withLine = (start: string, ...lines: readonly string[]): string =>
  good.toSpliced(lineOf(start), 1, ...lines).join('')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

let wharf: TestWharf
let before: DatabaseState

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_MAX_LINE_BYTES: '2048' } })
  await createProject(wharf, 'shop', SHOP)
  await createProject(wharf, 'other', SHOP)
  await createProject(wharf, 'different', 'CREATE TABLE artist (id bigint PRIMARY KEY)')
  before = await readState(wharf.database)
})

afterAll(() => wharf.close())

afterEach(async () => {
  expect(await readdir(wharf.container.spoolFolder)).toEqual([])
  const [expected, found] = [before, await readState(wharf.database)]
  before = found
  expect(found).toEqual(expected)
})

test('an archive that was cut between two lines is refused, wherever', async () => {
  for (let count = 0; count < good.length; count += 1) {
    const answer = await sendArchive(wharf.root, good.slice(0, count).join(''))
    expect(answer, `after ${count} lines`).toMatchObject({ status: 400 })
  }
})

test('a compressed archive that was cut is refused, at whichever byte', async () => {
  const packed = gzipSync(GOOD)
  for (const length of someOf(numbers(0, packed.length), 7)) {
    const answer = await sendArchive(wharf.root, packed.subarray(0, length), {
      headers: { 'content-encoding': 'gzip' },
    })
    expect(answer, `after ${length} bytes`).toMatchObject({ status: 400 })
  }
})

/** Ten lines of the same letter, which gzip makes a thousandth of. */
const bomb = (): Buffer => gzipSync(Buffer.concat([GOOD.subarray(0, -20), Buffer.alloc(120 * 1024 * 1024, '\n')]))

const DAMAGED: Readonly<Record<string, { body: string | Buffer; says: string | RegExp; line?: number }>> = {
  'a row too many': {
    body: withLine('row', good[lineOf('row')] ?? '', good[lineOf('row')] ?? ''),
    says: /counts 2 rows, but there are 3/,
  },
  'a row too few': { body: withLine('row'), says: /counts 2 rows, but there are 1/ },
  'a changed value': { body: withLine('row', '{"row":[1,"Aerosmit"]}\n'), says: /sum|sha256/ },
  'a sum that differs': {
    body: withLine('rowsEnd', `{"rowsEnd":{"table":"artist","rows":2,"sha256":"${sha256('')}"}}\n`),
    says: /sum|sha256/,
  },
  'lines out of order': { body: withLine('stage', good[lineOf('rowsEnd')] ?? ''), says: /cannot stand here/, line: 3 },
  'a repeated end': { body: `${GOOD}${good.at(-1)}`, says: /after the "end" line/ },
  'no end': { body: withLine('end'), says: /no "end" line/ },
  'bytes that are no UTF-8': {
    body: Buffer.from(GOOD.toString('latin1').replace('Aerosmith', 'A\xe9rosmith'), 'latin1'),
    says: /UTF-8/,
  },
  'a line that is no object': { body: withLine('row', '[1,2]\n'), says: /must be an object/ },
  'a line that is no JSON': { body: withLine('row', '{"row":[1,\n'), says: /not JSON/ },
  'a line with two keys': { body: withLine('projectEnd', '{"projectEnd":{"slug":"shop"},"x":1}\n'), says: /one key/ },
  'a kind that is not known': { body: withLine('row', '{"file":{}}\n'), says: /cannot stand here/ },
  'a version that is not known': {
    body: GOOD.toString().replace('"version":1', '"version":3'),
    says: /version 3; known are versions 1 and 2/,
    line: 1,
  },
  'a line that is too long': { body: withLine('row', `{"row":[1,"${'x'.repeat(3000)}"]}\n`), says: /longer than 2048/ },
  'a line without end': { body: `${'x'.repeat(5000)}`, says: /longer than 2048/ },
  'nesting without end': {
    body: withLine('stage', `{"stage":{"slug":${'['.repeat(900)}1${']'.repeat(900)}}}\n`),
    says: /nested/,
  },
  'a key that comes twice': {
    body: withLine('projectEnd', '{"projectEnd":{"slug":"shop","slug":"shop"}}\n'),
    says: /same key twice/,
  },
  'a row that is too short': { body: withLine('row', '{"row":[1]}\n'), says: /1 values, but the table has 2 columns/ },
  'a zero character': { body: withLine('row', '{"row":[1,"\\u0000"]}\n'), says: /U\+0000/ },
  'gzip with garbage behind it': {
    body: Buffer.concat([gzipSync(GOOD), Buffer.from('x')]),
    says: /follows|in the middle/,
  },
  'gzip with a byte that flipped': { body: flipped(gzipSync(GOOD), 40), says: /gzip|line/ },
  'garbage behind the end': { body: `${GOOD}x`, says: /after the "end" line/ },
  nothing: { body: '', says: /^the file is empty, there is no archive in it$/ },
  'nothing, compressed': { body: gzipSync(''), says: /^the file is empty, there is no archive in it$/ },
  'an archive without projects': { body: buildArchive(), says: /no project/ },
}

const problem = z.object({ detail: z.string() })

const detailOf = (answer: ApiAnswer): string => problem.parse(answer.json).detail

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 0x10
  return copy
}

test.each(Object.entries(DAMAGED))('%s is refused', async (_, { body, says, line }) => {
  const answer = await sendArchive(wharf.root, body)
  expect(answer.status).toBe(400)
  expect(detailOf(answer)).toMatch(says)
  if (line !== undefined) expect(answer.json).toMatchObject({ errors: [{ line }] })
})

test('gzip that grows beyond measure is refused before it has grown', async () => {
  const answer = await sendArchive(wharf.root, bomb(), { headers: { 'content-encoding': 'gzip' } })
  expect(answer).toMatchObject({ status: 400, text: expect.stringMatching(/200 times|line/) })
})

/** Rows that the target's own structure refuses, and what is said: where, and never the value. */
const BROKEN: Readonly<Record<string, { rows: Rows; status: number; says: RegExp }>> = {
  'a text for a number': {
    rows: { artists: [...ARTISTS, ['secret', 'x']] },
    status: 400,
    says: /line 9: column "id" of table "artist" does not take the value \(SQLSTATE 22P02\)/,
  },
  'a number out of range': {
    rows: { artists: [[3_000_000_000, 'secret']] },
    status: 400,
    says: /line 7: column "id" of table "artist" .* \(SQLSTATE 22003\)/,
  },
  'a date that is none': {
    rows: { albums: [[1, 1, '1', 'secret']] },
    status: 400,
    says: /line 11: column "sold" of table "album" .* \(SQLSTATE 22007\)/,
  },
  'a null where none may be': {
    rows: { artists: [[1, null]] },
    status: 400,
    says: /line 7: table "artist" does not take the value \(SQLSTATE 23502\)/,
  },
  'a key that comes twice': {
    rows: { artists: [...ARTISTS, [2, 'secret']] },
    status: 409,
    says: /nothing was changed: the rows break the constraint "artist_pkey" of table "artist" \(SQLSTATE 23505\)/,
  },
  'a unique value that comes twice': {
    rows: { artists: [...ARTISTS, [3, 'Aerosmith']] },
    status: 409,
    says: /"artist_name_key" of table "artist"/,
  },
  'a foreign key without its row': {
    rows: { albums: [[1, 4711, '1', null]] },
    status: 409,
    says: /"album_artist_id_fkey" of table "album" \(SQLSTATE 23503\)/,
  },
  'a broken check': {
    rows: { albums: [[1, 1, '-4711', null]] },
    status: 409,
    says: /"album_price_check" of table "album" \(SQLSTATE 23514\)/,
  },
}

/** An answer has the request's id, which may have any digits in it. */
const UUIDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const LINES_OF_A_PROJECT = good.length - 2

describe.each(Object.entries(BROKEN))('%s', (_, { rows, status, says }) => {
  test.each([
    ['in the only project', [project('shop', rows)]],
    ['in the second of two projects', [project('other'), project('shop', rows)]],
  ])('is refused, %s', async (_location, projects) => {
    const answer = await sendArchive(wharf.root, buildArchive(...projects))
    expect(answer.status).toBe(status)
    const offset = (projects.length - 1) * LINES_OF_A_PROJECT
    expect(detailOf(answer).replace(/line (\d+)/, (_all, line) => `line ${Number(line) - offset}`)).toMatch(says)
    expect(answer.text.replace(UUIDS, '')).not.toMatch(/secret|4711|3000000000|Aerosmith/)
  })
})

test('a second project that does not exist keeps the first from being touched', async () => {
  const answer = await sendArchive(wharf.root, buildArchive(project('shop'), project('nowhere')))
  expect(answer).toMatchObject({ status: 404, text: expect.stringContaining('nowhere') })
})

test('a second project with another structure keeps the first from being touched', async () => {
  const answer = await sendArchive(wharf.root, buildArchive(project('shop'), project('different')))
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('different/live: table') })
})

test('a second project that is forbidden keeps the first from being touched', async () => {
  const memberships = [
    { project: 'shop', role: 'admin' },
    { project: 'other', role: 'viewer' },
  ]
  const made = await wharf.root.post('/tokens', { json: { name: 'half', memberships } })
  before = await readState(wharf.database)
  const { token } = z.object({ token: z.string() }).parse(made.json)
  const client = wharf.root.withToken(token)
  const answer = await sendArchive(client, buildArchive(project('shop'), project('other')))
  expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('content.import') })
})

test('two projects cannot go to one target', async () => {
  const both = buildArchive(project('shop'), project('other', {}, { targetSlug: 'shop' }))
  expect(await sendArchive(wharf.root, both)).toMatchObject({ status: 400, text: expect.stringContaining('shop') })
  const answer = await sendArchive(wharf.root, buildArchive(project('shop'), project('other')), {
    query: '?targetSlug=shop',
  })
  expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('one project') })
})

test('a stage that the target lacks has to be made first', async () => {
  const draft = { ...shop(), slug: 'draft' }
  const answer = await sendArchive(wharf.root, buildArchive({ slug: 'shop', stages: [shop(), draft] }))
  expect(answer).toMatchObject({
    status: 409,
    json: {
      errors: [
        {
          detail: 'project "shop" has no stage "draft"; create it first (stage:create, or POST /projects/shop/stages)',
        },
      ],
    },
  })
})

const HEADERS: readonly (readonly [string, Record<string, string>, number])[] = [
  ['JSON', { 'content-type': 'application/json' }, 415],
  ['a form', { 'content-type': 'multipart/form-data; boundary=x' }, 415],
  ['another character set', { 'content-type': 'application/x-ndjson; charset=utf-16' }, 415],
  ['brotli', { 'content-encoding': 'br' }, 415],
  ['gzip twice', { 'content-encoding': 'gzip, gzip' }, 415],
]

test.each(HEADERS)('a body that is announced as %s is refused', async (_, headers, status) => {
  expect(await sendArchive(wharf.root, GOOD, { headers })).toMatchObject({ status })
})

test('a client that goes away in the middle of its upload leaves nothing behind', async () => {
  const controller = new AbortController()
  const received = async (): Promise<number> => (await readdir(wharf.container.spoolFolder)).length
  async function* half(): AsyncGenerator<Buffer> {
    yield GOOD.subarray(0, 500)
    await expect.poll(received).toBe(1)
    controller.abort()
    await new Promise(() => undefined)
  }
  await expect(sendArchive(wharf.root, half(), { signal: controller.signal })).rejects.toThrow()
  await expect.poll(received).toBe(0)
})
