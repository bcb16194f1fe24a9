import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readArchive } from '../../src/archive/read-archive.ts'
import { createStructureLimit } from '../../src/archive/structure-limit.ts'
import { verifyArchive } from '../../src/archive/verify-archive.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import { AppError } from '../../src/errors.ts'
import { collect, sampleLines, streamOf } from '../support/archives/archive-sample.ts'

const lines = sampleLines().map(String)
const text = lines.join('')
const at = (start: string) => lines.findIndex((line) => line.startsWith(start)) + 1

/** What reading the bytes is refused with. */
async function errorOf(bytes: Buffer, options = {}): Promise<AppError> {
  const error: unknown = await verifyArchive(streamOf(bytes), copyText, options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof AppError)) throw new Error(`expected the archive to be refused, but got ${String(error)}`)
  return error
}

const replaced = (from: string | RegExp, to: string) => {
  const edited = text.replace(from, to)
  if (edited === text) throw new Error(`the sample has nothing like ${String(from)}`)
  return edited
}
const without = (start: string) => lines.toSpliced(at(start) - 1, 1).join('')
const twice = (start: string) => lines.toSpliced(at(start) - 1, 0, lines[at(start) - 1] ?? '').join('')
const row = (line: string) => replaced(/{"row":\[1.*\n/, `${line}\n`)

const VALUES = '"title","rock",true,1.5'

const EXTENSION = '{"extension":{"name":"citext","version":"1.6","schema":"extensions"}}\n'

const SECOND_STEP = '{"secondStep":{"object":"domain","name":"price"}}\n'

const FAULTS: readonly [name: string, archive: string, line: number, detail: string][] = [
  ['something else', 'CREATE TABLE album ();\n', 1, 'is not JSON; expected "archive"'],
  ['another JSON Lines file', '{"name":"x"}\n', 1, 'a line of kind "name" cannot stand here; expected "archive"'],
  [
    'an unknown version',
    replaced(/"version":1,"createdAt":"[^"]*"/, '"version":3,"createdAt":0'),
    1,
    'version 3; known are versions 1 and 2',
  ],
  ['a version that is none', replaced('"version":1', '"version":"1"'), 1, 'archive.version'],
  ['a missing header', without('{"archive"'), 1, 'expected "archive"'],
  ['two headers', twice('{"archive"'), 2, 'expected "project" or "end"'],
  ['an unknown kind', replaced('{"enum"', '{"tablet"'), at('{"enum"'), 'a line of kind "tablet" cannot stand here'],
  ['a kind that every object has', replaced('{"enum"', '{"constructor"'), at('{"enum"'), '"constructor"'],
  ['a kind that looks like none', replaced('{"enum"', '{"a secret"'), at('{"enum"'), 'a line of this kind'],
  ['two kinds in one line', replaced('{"system":{}}', '{"system":{},"role":{}}'), 3, 'one key'],
  ['no kind', replaced('{"system":{}}', '{}'), 3, 'one key'],
  ['an array', replaced('{"system":{}}', '[]'), 3, 'one key'],
  ['a number', replaced('{"system":{}}', '1'), 3, 'one key'],
  ['a blank line', replaced('{"system":{}}', ''), 3, 'is not JSON; expected "system"'],
  ['a key twice', replaced('"system":true', '"system":true,"system":false'), 2, 'same key twice'],
  ['a kind twice', replaced('{"system":{}}', '{"system":{},"s\\u0079stem":{}}'), 3, 'same key twice'],
  ['endless nesting', replaced('{"system":{}}', `{"system":${'['.repeat(1e5)}${']'.repeat(1e5)}}`), 3, 'nested deeper'],
  ['a field of the wrong type', replaced('"system":true', '"system":1'), 2, 'project.system'],
  ['a missing field', replaced('"values":["rock","jazz"]', '"value":[]'), at('{"enum"'), 'enum.values'],
  ['a slug that is none', replaced('"slug":"live"', '"slug":"../live"'), at('{"stage"'), 'must be a slug'],
  ...['../admin', 'a/b', 'Editor', '', 'e'.repeat(64), 'editor\\n'].map((name): [string, string, number, string] => [
    `a role that no path can name, ${JSON.stringify(name)}`,
    replaced('"name":"editor"', `"name":"${name}"`),
    at('{"role"'),
    'role.name: must be the name of a role',
  ]),
  ['a name too long for PostgreSQL', replaced('"genre"', `"${'ü'.repeat(32)}"`), at('{"enum"'), 'at most 63 bytes'],
  ['U+0000 in a name', replaced('"genre"', '"gen\\u0000re"'), at('{"enum"'), 'U+0000'],
  ['an event without its JSON', replaced(/"rows":\["[^}]*}"/, '"rows":["x"'), 5, 'event.rows.0: must be JSON'],

  ['an announced system section that is missing', without('{"system":'), 3, 'expected "system"'],
  ['a system section that was not announced', replaced('"system":true', '"system":false'), 3, 'expected "stage"'],
  ['a role after an event', lines.toSpliced(5, 0, lines[3] ?? '').join(''), 6, 'expected "event" or "systemEnd"'],
  ['a missing role', without('{"role"'), at('{"systemEnd"') - 1, 'counts 1 roles, but there are 0'],
  ['a changed role', replaced('"read":true', '"read":false'), at('{"systemEnd"'), 'another sum'],
  ['a project twice', twice('{"project"'), 3, 'expected "system"'],
  ['a project of the same name', replaced('"slug":"blog"', '"slug":"shop"'), at('{"project":{"slug":"blog'), 'taken'],
  ['a type twice', twice('{"enum"'), at('{"enum"') + 1, 'enum "genre": the name is taken'],
  [
    'an extension behind a type',
    replaced('{"table"', `${EXTENSION}{"table"`),
    at('{"table"'),
    'a line of kind "extension" cannot stand here',
  ],
  [
    'an extension twice',
    replaced('{"enum"', `${EXTENSION}${EXTENSION}{"enum"`),
    at('{"enum"') + 1,
    'extension "citext": the name is taken',
  ],
  ...(['public', 'pg_temp', 'shop.live', 'extensions"; --'] as const).map((schema): (typeof FAULTS)[number] => [
    `an extension in the schema ${schema}`,
    replaced('{"enum"', `${EXTENSION.replace('"extensions"', JSON.stringify(schema))}{"enum"`),
    at('{"enum"'),
    'extension.schema',
  ]),
  ['a table twice', twice('{"table"'), at('{"table"') + 1, 'table "album": the name is taken'],
  ['a table named as a type', replaced('"genre","values"', '"album","values"'), at('{"table"'), 'the name is taken'],
  [
    'a sequence named as a table',
    replaced('{"sequence":{"name":"album_id_seq"', '{"sequence":{"name":"empty"'),
    at('{"table":{"name":"empty'),
    'taken',
  ],
  [
    'a table that inherits from one that no line describes',
    replaced('{"table":{"name":"album",', '{"table":{"name":"album","inherits":["pg_class"],'),
    at('{"table"'),
    'no line before describes "pg_class"',
  ],
  [
    'a table that inherits from itself',
    replaced('{"table":{"name":"album",', '{"table":{"name":"album","inherits":["album"],'),
    at('{"table"'),
    'no line before describes "album"',
  ],
  [
    'a table of a type that no line describes',
    replaced('{"table":{"name":"album",', '{"table":{"name":"album","of":"genre",'),
    at('{"table"'),
    'no line before describes its composite type "genre"',
  ],
  ...(
    [
      ['without a first one', { object: 'view', name: 'album' }],
      ['of a table, about a column that is not generated', { object: 'table', name: 'album', columns: ['title'] }],
      ['of a table that no line describes', { object: 'table', name: 'pg_class', columns: ['loud'] }],
    ] as const
  ).map(([what, secondStep]): (typeof FAULTS)[number] => [
    `a second step ${what}`,
    replaced('{"rows":{"table":"album"', `${JSON.stringify({ secondStep })}\n{"rows":{"table":"album"`),
    at('{"rows"'),
    'no line before describes its first step',
  ]),
  [
    'a second step twice',
    replaced('{"rows":{"table":"album"', `${SECOND_STEP}${SECOND_STEP}{"rows":{"table":"album"`),
    at('{"rows"') + 1,
    'or this is not the first',
  ],
  [
    'a second step of a table that names no columns',
    replaced('{"rows":{"table":"album"', '{"secondStep":{"object":"table","name":"album"}}\n{"rows":{"table":"album"'),
    at('{"rows"'),
    'secondStep.columns',
  ],
  [
    'a partition of a table that no line describes',
    replaced(
      '{"table":{"name":"album",',
      '{"table":{"name":"album","partitionOf":{"table":"pg_class","bound":"DEFAULT"},',
    ),
    at('{"table"'),
    'no line before describes its partitioned table "pg_class"',
  ],
  ['a column twice', replaced('"name":"title"', '"name":"kind"'), at('{"table"'), 'column "kind": the name is taken'],

  [
    'rows of a table that is not described',
    replaced('"table":"album","columns"', '"table":"x","columns"'),
    at('{"rows"'),
    'table "x" is not described',
  ],
  [
    'rows twice',
    lines.toSpliced(at('{"rowsEnd"'), 0, lines[at('{"rows"') - 1] ?? '').join(''),
    at('{"rowsEnd"') + 1,
    'its rows came before',
  ],
  [
    'rows that are missing',
    lines.filter((line) => !/^{"rows(End)?":{"table":"empty/.test(line)).join(''),
    at('{"stageEnd"') - 2,
    'the rows of table "empty" are missing',
  ],
  [
    'a generated column in the rows',
    replaced('"columns":["album_id"', '"columns":["loud"'),
    at('{"rows"'),
    'column "loud"',
  ],
  [
    'a column twice in the rows',
    replaced('"columns":["album_id"', '"columns":["title"'),
    at('{"rows"'),
    'column "title"',
  ],
  [
    'a column missing in the rows',
    replaced('"columns":["album_id",', '"columns":['),
    at('{"rows"'),
    'column "album_id" of table "album" is missing',
  ],
  [
    'a row outside of rows',
    lines.toSpliced(at('{"rows"') - 1, 0, '{"row":[1]}\n').join(''),
    at('{"rows"'),
    'a line of kind "row" cannot stand here',
  ],
  [
    'rows that end as those of another table',
    replaced('{"rowsEnd":{"table":"album"', '{"rowsEnd":{"table":"empty"'),
    at('{"rowsEnd"'),
    'closes "empty", but "album" is open',
  ],

  ['a row that is no array', row('{"row":{}}'), at('{"row":'), 'must be an array'],
  ['a row that is null', row('{"row":null}'), at('{"row":'), 'must be an array'],
  ['a row that is short', row('{"row":[1]}'), at('{"row":'), 'has 1 values, but the table has 5 columns'],
  ['a row that is long', row(`{"row":[1,2,${VALUES}]}`), at('{"row":'), 'has 6 values'],
  ['a row with a second key', row(`{"row":[1,${VALUES}],"note":1}`), at('{"row":'), 'one key'],
  ['a row twice in its line', row(`{"row":[1],"row":[1,${VALUES}]}`), at('{"row":'), 'same key twice'],
  ['two rows in a line', row(`{"row":[1,${VALUES}]}{"row":[1,${VALUES}]}`), at('{"row":'), 'is not JSON'],
  ['a nested value', row('{"row":[1,["a"],null,true,1.5]}'), at('{"row":'), 'the value of column "title" must be'],
  [
    'a number for a text',
    row('{"row":[1,9007199254740993,null,true,1.5]}'),
    at('{"row":'),
    'the value of column "title" is a number',
  ],
  [
    'a number for a domain over numeric',
    row('{"row":[1,"a",null,true,1.5]}').replace(
      '"name":"gain","type":"double precision"',
      '"name":"gain","type":"price"',
    ),
    at('{"row":'),
    'the value of column "gain" is a number',
  ],
  ...['numeric(10,2)[]', 'numeric[]', 'integer[]'].map((type): [string, string, number, string] => [
    `a number for ${type}`,
    row('{"row":[1,"a",null,true,1.5]}').replace(
      '"name":"gain","type":"double precision"',
      `"name":"gain","type":"${type}"`,
    ),
    at('{"row":'),
    'the value of column "gain" is a number',
  ]),
  [
    'a number beyond all',
    row('{"row":[1,"a",null,true,1e999]}'),
    at('{"row":'),
    'the value of column "gain" is too large',
  ],
  ['U+0000 in a value', row('{"row":[1,"a\\u0000",null,true,1.5]}'), at('{"row":'), 'U+0000'],
  ['half of a surrogate pair', row('{"row":[1,"\\ud83c",null,true,1.5]}'), at('{"row":'), 'surrogate'],
  ['half of a pair, spaced', row('{"row": [1,"\\ud83c",null,true,1.5]}'), at('{"row":'), 'surrogate'],
  ['a changed value', row(`{"row":[1,${VALUES}]}`), at('{"rowsEnd"'), 'another sum'],
  ['a missing row', without('{"row":'), at('{"rowsEnd"') - 1, 'counts 3 rows, but there are 2'],
  ['a row too many', twice('{"row":'), at('{"rowsEnd"') + 1, 'counts 3 rows, but there are 4'],

  [
    'a wrong count of tables',
    replaced('"tables":2', '"tables":1'),
    at('{"stageEnd"'),
    'counts 1 tables, but there are 2',
  ],
  [
    'a wrong total',
    replaced('{"end":{"projects":2,"rows":3}', '{"end":{"projects":2,"rows":2}'),
    at('{"end"'),
    'counts 2 rows',
  ],
  ['a wrong count of projects', replaced('"projects":2', '"projects":3'), at('{"end"'), 'counts 3 projects'],
  [
    'another stage at the end',
    replaced('{"stageEnd":{"slug":"live"', '{"stageEnd":{"slug":"dead"'),
    at('{"stageEnd"'),
    'closes "dead"',
  ],
  [
    'another project at the end',
    replaced('{"projectEnd":{"slug":"shop"', '{"projectEnd":{"slug":"x"'),
    at('{"projectEnd"'),
    'closes "x"',
  ],
  ['a line after the end', `${text}{"end":{}}\n`, lines.length + 1, 'after the "end" line'],
  ['rubbish after the end', `${text}\n\0\0`, lines.length + 2, 'after the "end" line'],
  ['no newline at the end', text.slice(0, -1), lines.length, 'no newline'],
]

test.each(FAULTS)('refuses %s, naming the line', async (_name, archive, line, detail) => {
  for (const bytes of [Buffer.from(archive), gzipSync(archive)]) {
    const error = await errorOf(bytes)
    expect(error.code).toBe('ARCHIVE_INVALID')
    expect(error.message).toMatch(new RegExp(`^line ${line}: `))
    expect(error.message).toContain(detail)
    expect(error.faults[0]?.line).toBe(line)
  }
})

test('refuses nothing, which has no line to name', async () => {
  for (const bytes of [Buffer.alloc(0), gzipSync('')]) {
    const { code, message, faults } = await errorOf(bytes)
    expect({ code, message, faults }).toEqual({
      code: 'ARCHIVE_INVALID',
      message: 'the file is empty, there is no archive in it',
      faults: [{ detail: 'the file is empty, there is no archive in it' }],
    })
  }
})

test('every wrong field of a line is told', async () => {
  const error = await errorOf(
    Buffer.from(replaced('"slug":"shop","targetSlug":"shop-staging"', '"slug":"S","targetSlug":""')),
  )
  expect(error.faults.map(({ line, detail }) => `${line} ${detail.split(':')[0]}`)).toEqual([
    '2 project.slug',
    '2 project.targetSlug',
  ])
})

test('invalid UTF-8 is refused with its line, and never becomes another character', async () => {
  for (const start of ['{"archive"', '{"enum"', '{"row":', '{"end"']) {
    const bytes = Buffer.from(text)
    bytes[bytes.indexOf(start) + 5] = 0xff
    expect((await errorOf(bytes)).message).toBe(`line ${at(start)}: is not valid UTF-8`)
  }
})

test.each([
  ['in a line that ends', (length: number) => text.replace('"editor"', `"${'x'.repeat(length)}"`), 4],
  ['in a line without an end', (length: number) => lines.slice(0, 3).join('') + 'x'.repeat(length), 4],
])('a line that is too long is refused: %s', async (_name, archive, line) => {
  const options = { maxLineBytes: 100_000 }
  expect((await errorOf(Buffer.from(archive(200_000)), options)).message).toBe(
    `line ${line}: is longer than 100000 bytes, the most that is read`,
  )
  expect((await errorOf(Buffer.from(archive(50_000)), options)).message).not.toContain('longer')
})

test('a line that is too long is not read to its end', async () => {
  let chunks = 0
  async function* endless() {
    yield Buffer.from(lines[0] ?? '')
    for (; ; chunks += 1) yield Buffer.alloc(65_536, 'x')
  }
  await expect(collect(readArchive(endless(), copyText, { maxLineBytes: 1_000_000 }))).rejects.toThrow(
    'line 2: is longer',
  )
  expect(chunks).toBeLessThan(30)
})

test('an archive with more structure than fits into memory is refused', async () => {
  const types = Array.from({ length: 100_000 }, (_, index) => `{"enum":{"name":"e${index}","values":[]}}\n`)
  const archive = replaced(/(?=\{"enum")/, types.join(''))
  const { message } = await errorOf(Buffer.from(archive))
  expect(message).toMatch(/^line 100\d{3}: is one more than the 100000 lines besides rows and events that are read$/)
})

test('lines besides rows and events are limited together, in number, in bytes and in values', () => {
  const one = { bytes: 1, values: 1 }
  const byNumber = createStructureLimit({ lines: 2, bytes: 1_000, values: 100, projects: 2, parts: 1 })
  expect([byNumber('project', one), byNumber('table', one), byNumber('event', one), byNumber('rows', one)]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  )
  expect(byNumber('role', one)).toContain('2 lines')
  const bySize = createStructureLimit({ lines: 100, bytes: 10, values: 100, projects: 1, parts: 1 })
  expect([bySize('table', { bytes: 10, values: 99 }), bySize('event', { bytes: 10, values: 99 })]).toEqual([
    undefined,
    undefined,
  ])
  expect(bySize('sequence', one)).toContain('10 bytes')
  const byValues = createStructureLimit({ lines: 100, bytes: 100, values: 10, projects: 1, parts: 1 })
  expect([byValues('table', { bytes: 1, values: 10 }), byValues('table', one)]).toEqual([
    undefined,
    expect.stringContaining('10 values'),
  ])
  const byProjects = createStructureLimit({ lines: 100, bytes: 100, values: 10, projects: 1, parts: 1 })
  expect([byProjects('project', one), byProjects('project', one)]).toEqual([
    undefined,
    expect.stringContaining('1 projects'),
  ])
})

test('an allowed edit may change counts and sums, but neither names nor order nor the end', async () => {
  const edited = (archive: string) => errorOf(Buffer.from(archive), { allowEdited: true })
  const changed = Buffer.from(row(`{"row":[1,${VALUES}]}`).replace('"projects":2', '"projects":7'))
  expect((await verifyArchive(streamOf(changed), copyText, { allowEdited: true })).rows).toBe(3)
  expect((await edited(without('{"end"'))).message).toContain('"end" line')
  expect((await edited(without('{"rowsEnd"'))).message).toContain('cannot stand here')
  expect((await edited(replaced('{"rowsEnd":{"table":"album"', '{"rowsEnd":{"table":"empty"'))).message).toContain(
    'closes',
  )
})

test('no refusal quotes a value', async () => {
  const secret = 'hunter2'
  for (const line of [
    `{"row":["${secret}"]}`,
    `{"row":[${secret}]}`,
    `{"row":["${secret}`,
    `{"${secret} ${secret}":1}`,
  ]) {
    const error = await errorOf(Buffer.from(row(line)))
    expect(JSON.stringify([error.message, error.faults, String(error.cause)])).not.toContain(secret)
  }
})
