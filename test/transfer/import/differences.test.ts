import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { readState } from '../../support/database/database-state.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { someOf } from '../../support/thorough.ts'

const STRUCTURE = `
  CREATE TYPE genre AS ENUM ('rock', 'jazz');
  CREATE DOMAIN price AS numeric(10, 2) CHECK (VALUE > 0);
  CREATE TYPE size AS (width integer, height integer);
  CREATE TABLE artist (id integer PRIMARY KEY, name text NOT NULL, genre genre DEFAULT 'rock', code varchar(10) UNIQUE);
  CREATE TABLE album (id serial PRIMARY KEY, artist_id integer REFERENCES artist, price price, size size,
    title text, upper_title text GENERATED ALWAYS AS (upper(title)) STORED, CONSTRAINT named CHECK (title <> ''));
  CREATE INDEX album_title ON album (title);`

/** What a target has that differs, and all that is said about it. */
const DIFFERENCES: readonly (readonly [change: string, ...said: string[]])[] = [
  ['ALTER TABLE artist DROP COLUMN genre', 'column "genre" of table "artist" is in the archive, but not in the target'],
  ['ALTER TABLE artist ADD age integer', 'column "age" of table "artist" is in the target, but not in the archive'],
  [
    'ALTER TABLE artist RENAME name TO label',
    'column "name" of table "artist" is in the archive, but not in the target',
    'column "label" of table "artist" is in the target, but not in the archive',
  ],
  [
    'ALTER TABLE artist ALTER name TYPE varchar(20)',
    'column "name" of table "artist": type is text in the archive, character varying(20) in the target',
  ],
  [
    'ALTER TABLE artist ALTER name DROP NOT NULL',
    'column "name" of table "artist": nullable is no in the archive, yes in the target',
  ],
  [
    `ALTER TABLE artist ALTER genre SET DEFAULT 'jazz'`,
    `column "genre" of table "artist": default is 'rock'::genre in the archive, 'jazz'::genre in the target`,
  ],
  [
    'ALTER TABLE artist ALTER genre DROP DEFAULT',
    `column "genre" of table "artist": default is 'rock'::genre in the archive, none in the target`,
  ],
  [
    'ALTER TABLE album ALTER upper_title DROP EXPRESSION',
    'column "upper_title" of table "album": generation expression is upper(title) in the archive, none in the target',
  ],
  [
    `ALTER TYPE genre ADD VALUE 'folk' BEFORE 'jazz'`,
    'enum "genre": list of values is "rock", "jazz" in the archive, "rock", "folk", "jazz" in the target',
  ],
  [
    'ALTER DOMAIN price DROP CONSTRAINT price_check',
    'domain "price": checks is price_check CHECK ((VALUE > (0)::numeric)) in the archive, none in the target',
  ],
  [
    'ALTER TYPE size ADD ATTRIBUTE depth integer CASCADE',
    'composite "size": attributes is width integer, height integer in the archive, width integer, height integer, depth integer in the target',
  ],
  [
    'DROP TABLE album',
    'table "album" is in the archive, but not in the target',
    'sequence "album_id_seq" is in the archive, but not in the target',
  ],
  ['CREATE TABLE shelf (id integer)', 'table "shelf" is in the target, but not in the archive'],
  [
    'ALTER TABLE artist DROP CONSTRAINT artist_code_key',
    'unique constraint "artist_code_key" of table "artist" is in the archive, but not in the target',
  ],
  [
    'ALTER TABLE album DROP CONSTRAINT album_pkey; ALTER TABLE album ADD PRIMARY KEY (id, artist_id)',
    'column "artist_id" of table "album": nullable is yes in the archive, no in the target',
    'primary key "album_pkey" of table "album": definition is PRIMARY KEY (id) in the archive, PRIMARY KEY (id, artist_id) in the target',
  ],
  ['DROP INDEX album_title', 'index "album_title" of table "album" is in the archive, but not in the target'],
  [
    'CREATE INDEX artist_name ON artist (name)',
    'index "artist_name" of table "artist" is in the target, but not in the archive',
  ],
  [
    'ALTER TABLE album DROP CONSTRAINT named',
    'check "named" of table "album" is in the archive, but not in the target',
  ],
  [
    'ALTER TABLE album DROP CONSTRAINT album_artist_id_fkey, ADD FOREIGN KEY (artist_id) REFERENCES artist ON DELETE CASCADE',
    'foreign key "album_artist_id_fkey" of table "album": definition is FOREIGN KEY (artist_id) REFERENCES artist(id) in the archive, FOREIGN KEY (artist_id) REFERENCES artist(id) ON DELETE CASCADE in the target',
  ],
  [
    'ALTER SEQUENCE album_id_seq INCREMENT BY 2',
    'sequence "album_id_seq": increment is 1 in the archive, 2 in the target',
  ],
]

const problem = z.object({ detail: z.string(), errors: z.array(z.object({ detail: z.string() })) })

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'source', STRUCTURE)
  const stages = DIFFERENCES.map((_, at) => `s${at}`)
  await wharf.root.post('/projects', { json: { slug: 'target', stages: ['same', ...stages] } })
  archive = await exportOf(wharf.root, 'source')
})

afterAll(() => wharf.close())

const send = (stage: string, query = '?targetSlug=target') =>
  sendArchive(wharf.root, archive.replaceAll('{"slug":"live"', `{"slug":"${stage}"`), { query })

test.each(someOf(DIFFERENCES, 2).map(([change, ...said], at) => ({ change, said, stage: `s${at}` })))(
  'a target that differs by $change is told so',
  async ({ change, said, stage }) => {
    expect(await applyScript(wharf, 'target', STRUCTURE, stage)).toMatchObject({ status: 200 })
    expect(await applyScript(wharf, 'target', change, stage)).toMatchObject({ status: 200 })
    const before = await readState(wharf.database)
    for (const query of ['?targetSlug=target', '?targetSlug=target&dryRun=true']) {
      const answer = await send(stage, query)
      expect(answer.status).toBe(409)
      const { detail, errors } = problem.parse(answer.json)
      expect(errors.map((error) => error.detail).sort()).toEqual(said.map((each) => `target/${stage}: ${each}`).sort())
      expect(detail).toContain('the archive does not fit its target: ')
    }
    expect(await readState(wharf.database)).toEqual(before)
  },
)

test('a target that differs only in what decides about no row takes the archive', async () => {
  await applyScript(wharf, 'target', STRUCTURE, 'same')
  const change = `
    COMMENT ON TABLE artist IS 'who plays'; COMMENT ON COLUMN artist.name IS 'and how they are called';
    COMMENT ON SCHEMA "target.same" IS 'the stage itself';
    ALTER TABLE artist SET (fillfactor = 70); ALTER TABLE artist ALTER name SET STATISTICS 200;
    SELECT setval('album_id_seq', 4711);`
  await applyScript(wharf, 'target', change, 'same')
  expect(await send('same')).toMatchObject({ status: 200 })
  const after = await exportOf(wharf.root, 'target', { stages: ['same'] })
  expect(after).toContain('who plays')
  expect(after).toContain('and how they are called')
  expect(after).toContain('{"slug":"same","complete":true,"comment":"the stage itself"}')
  expect(after).toContain('"options":["fillfactor=70"]')
  expect(after).toContain('"statistics":200')
  expect(after).not.toContain('4711')
})

test('PostgreSQL may print the SQL of a copy in other words than that of its original', async () => {
  await createProject(
    wharf,
    'original',
    `CREATE DOMAIN state AS varchar(9) CHECK (VALUE IN ('new', 'old'));
     CREATE TABLE parcel (id integer PRIMARY KEY, state varchar(9) CHECK (state IN ('new', 'old')), other state,
       is_new boolean GENERATED ALWAYS AS (state IN ('new', 'newer')) STORED);
     CREATE INDEX parcel_open ON parcel (id) WHERE state IN ('new', 'late');
     INSERT INTO parcel VALUES (1, 'new', 'old')`,
  )
  await createProject(wharf, 'copied')
  const of = (archive: string) => archive.match(/ANY .{50}/)?.[0]
  const original = await exportOf(wharf.root, 'original')
  const toCopy = { query: '?targetSlug=copied' }
  expect(await sendArchive(wharf.root, original, toCopy)).toMatchObject({ status: 200 })
  const copied = await exportOf(wharf.root, 'copied')
  expect(of(copied)).not.toBe(of(original))
  expect(await sendArchive(wharf.root, original, toCopy)).toMatchObject({ status: 200 })
  expect(await sendArchive(wharf.root, copied, { query: '?targetSlug=original' })).toMatchObject({ status: 200 })
  await applyScript(wharf, 'copied', 'ALTER TABLE parcel DROP CONSTRAINT parcel_state_check')
  await applyScript(wharf, 'copied', `ALTER TABLE parcel ADD CHECK (state IN ('new', 'lost'))`)
  expect(await sendArchive(wharf.root, original, toCopy)).toMatchObject({
    status: 409,
    json: {
      errors: [{ detail: expect.stringContaining('check "parcel_state_check" of table "parcel": definition is') }],
    },
  })
})
