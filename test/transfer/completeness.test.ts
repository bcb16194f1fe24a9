import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { createExternalDatabase } from '../support/database/external-database.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { askExport, askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { LACKS_ROWS, SAYS_ALL_IS_THERE } from '../support/service/lacks-rows.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
/** An archive of the tour that lacks rows. */
let archive: string

beforeAll(async () => {
  wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1' } })
  await createProject(wharf, 'tour', LACKS_ROWS)
  await createProject(wharf, 'target')
  const answer = await exportTour({ allowIncomplete: true })
  expect(answer.status, answer.text).toBe(200)
  archive = answer.text
})
afterAll(() => wharf?.close())

const exportTour = (fields: object, selection: object = {}): Promise<ApiAnswer> =>
  wharf.root.post('/export', { json: { projects: [{ slug: 'tour', ...selection }], ...fields } })

const concert = { stage: 'live', kind: 'table', name: 'concert', detail: expect.any(String), rows: true }
const lacking = { complete: false, notExported: expect.arrayContaining([concert]) }

/** The answer of a call that is refused, since rows are missing. */
function expectIncomplete({ status, text, json }: ApiAnswer): void {
  expect({ status, json }, text).toMatchObject({
    status: 409,
    json: {
      type: 'urn:wharf:error:incomplete',
      detail: expect.stringMatching(/^rows are missing.*live: table concert .*allowIncomplete.*excludeTables/),
      errors: [{ detail: expect.stringMatching(/^live: table concert \(needs type/) }],
    },
  })
  expect(text).not.toMatch(SAYS_ALL_IS_THERE)
}

const stageLine = (text: string): unknown =>
  JSON.parse(text.split('\n').find((line) => line.startsWith('{"stage":')) ?? '')

test('an export that would lack rows is refused before its first byte, and made where that is allowed', async () => {
  expectIncomplete(await exportTour({}))
  expectIncomplete(await exportTour({ allowIncomplete: false }))
  expect(stageLine(archive)).toMatchObject({
    stage: { slug: 'live', complete: false, notExported: expect.arrayContaining([{ ...concert, stage: undefined }]) },
  })
  expect(archive).not.toContain('monday')
})

test('a dry run of an export says what would be missing', async () => {
  const { status, json, text } = await wharf.root.post('/export/dry-run', { json: { projects: [{ slug: 'tour' }] } })
  expect({ status, json }).toMatchObject({ status: 200, json: lacking })
  expect(text).not.toMatch(SAYS_ALL_IS_THERE)
  const without = { projects: [{ slug: 'tour', excludeTables: ['concert'] }] }
  expect((await wharf.root.post('/export/dry-run', { json: without })).json).toMatchObject({
    notExported: [{ kind: 'enum', name: 'date' }],
  })
})

test('excluding a table that no archive can hold makes the export succeed', async () => {
  const { status, text } = await exportTour({}, { excludeTables: ['concert'] })
  expect({ status, line: stageLine(text) }).toMatchObject({
    status: 200,
    line: { stage: { notExported: [{ kind: 'enum', name: 'date' }] } },
  })
  expect((await exportTour({}, { excludeTables: ['concerts'] })).status).toBe(404)
})

test('excluding a partitioned table excludes its partitions', async () => {
  await createProject(
    wharf,
    'parted',
    `CREATE TABLE payment (id integer, day date) PARTITION BY RANGE (id);
     CREATE TABLE payment_low PARTITION OF payment FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
     CREATE TABLE payment_lowest PARTITION OF payment_low FOR VALUES FROM (0) TO (5);
     CREATE TABLE customer (id integer PRIMARY KEY);
     INSERT INTO payment VALUES (1, 'today'); INSERT INTO customer VALUES (1)`,
  )
  const text = await exportOf(wharf.root, 'parted', { excludeTables: ['payment'] })
  expect(stageLine(text)).toEqual({ stage: { slug: 'live', complete: true } })
  expect(text).toContain('"table":"customer"')
  expect(text).not.toContain('payment')
})

test('an archive that lacks rows is not imported, whichever way, and nothing has changed', async () => {
  const before = await exportOf(wharf.root, 'target')
  for (const query of ['?targetSlug=target', '?targetSlug=target&dryRun=true', '?targetSlug=target&allowEdited=true']) {
    expectIncomplete(await sendArchive(wharf.root, archive, { query }))
  }
  expectIncomplete(await askImport(wharf.root, archive, '?targetSlug=target'))
  expect((await exportOf(wharf.root, 'target')).split('\n').slice(1)).toEqual(before.split('\n').slice(1))
})

test('where that is allowed, the answer says what is missing: of a dry run, an import and a job', async () => {
  const query = '?targetSlug=target&allowIncomplete=true'
  const dry = await sendArchive(wharf.root, archive, { query: `${query}&dryRun=true` })
  expect({ status: dry.status, json: dry.json }, dry.text).toMatchObject({ status: 200, json: lacking })
  const imported = await sendArchive(wharf.root, archive, { query })
  expect({ status: imported.status, json: imported.json }, imported.text).toMatchObject({ status: 200, json: lacking })
  const job = await untilEnded(wharf.root, jobOf(await askImport(wharf.root, archive, query)))
  expect(job).toMatchObject({ status: 'succeeded', result: { ...lacking, lacksRows: true } })
  for (const said of [dry.text, imported.text, JSON.stringify(job)]) expect(said).not.toMatch(SAYS_ALL_IS_THERE)
})

test('an export as a job fails, or says what is missing', async () => {
  const refused = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug: 'tour' }])))
  expect(refused).toMatchObject({ status: 'failed', result: null, error: { code: 'INCOMPLETE' } })
  const json = { projects: [{ slug: 'tour' }], allowIncomplete: true }
  const asked = await wharf.root.post('/export', { json, headers: { prefer: 'respond-async' } })
  const allowed = await untilEnded(wharf.root, jobOf(asked))
  expect(allowed).toMatchObject({ status: 'succeeded', result: { ...lacking, lacksRows: true } })
  for (const said of [refused, allowed]) expect(JSON.stringify(said)).not.toMatch(SAYS_ALL_IS_THERE)
})

test.each([
  ['within the server', () => ({ project: 'tour' }), () => ({ project: 'moved' })],
  ['from another server', () => ({ dsn: dsnOf('tour') }), () => ({ project: 'moved' })],
  ['to another server', () => ({ project: 'tour' }), () => ({ dsn: dsnOf('moved') })],
])('a transfer %s fails, or says what is missing', async (_, source, target) => {
  if ((await wharf.root.get('/projects/moved')).status === 404) await createProject(wharf, 'moved')
  const transfer = async (fields: object) => {
    const json = { source: source(), target: target(), ...fields }
    return untilEnded(wharf.root, jobOf(await wharf.root.post('/transfer', { json })))
  }
  const refused = await transfer({})
  expect(refused, JSON.stringify(refused.error)).toMatchObject({
    status: 'failed',
    error: { code: 'INCOMPLETE', errors: [{ detail: expect.stringContaining('live: table concert') }] },
  })
  const allowed = await transfer({ allowIncomplete: true })
  expect(allowed, JSON.stringify(allowed.error)).toMatchObject({
    status: 'succeeded',
    result: { ...lacking, lacksRows: true },
  })
  for (const said of [refused, allowed]) expect(JSON.stringify(said)).not.toMatch(SAYS_ALL_IS_THERE)
})

const dsnOf = (slug: string): string => `wharf+http://${slug}:${ROOT_TOKEN}@${new URL(wharf.url).host}`

/** As versions before `rows` and `complete` wrote it. */
const asBefore = (text: string): string => text.replaceAll(',"rows":true', '').replace(/,"complete":(true|false)/, '')

test('in an archive of an earlier version, rows are missing with a table that it names', async () => {
  expect(asBefore(archive)).not.toContain('"complete"')
  expectIncomplete(await sendArchive(wharf.root, asBefore(archive), { query: '?targetSlug=target' }))
})

test('of an archive of an earlier version that names no table, it is not known whether it is complete', async () => {
  const { text } = await exportTour({}, { excludeTables: ['concert'] })
  await createProject(wharf, 'older')
  const answer = await sendArchive(wharf.root, asBefore(text), { query: '?targetSlug=older' })
  expect(answer.json, answer.text).toMatchObject({ ok: true, complete: null, notExported: [{ name: 'date' }] })
})

test('an archive that contradicts itself about what it lacks is refused', async () => {
  const body = archive.replace('"complete":false', '"complete":true')
  const { status, text } = await sendArchive(wharf.root, body, { query: '?targetSlug=target&allowIncomplete=true' })
  expect({ status, text }).toMatchObject({ status: 400, text: expect.stringContaining('stage.complete') })
})

test('large objects that a column refers to are counted, and missing', async () => {
  await createProject(
    wharf,
    'scans',
    `CREATE DOMAIN lo AS oid;
     CREATE TABLE scan (id integer PRIMARY KEY, image lo, preview oid, catalog oid);
     INSERT INTO scan SELECT n, lo_from_bytea(0, '\\x01'), NULL, 1 FROM generate_series(1, 2) AS n;
     INSERT INTO scan SELECT 3, image FROM scan WHERE id = 1;
     UPDATE scan SET preview = lo_from_bytea(0, '\\x02') WHERE id = 3`,
  )
  const large = (name: string, detail: string) => ({ stage: 'live', kind: 'large object', name, detail, rows: true })
  const { json } = await wharf.root.post('/export/dry-run', { json: { projects: [{ slug: 'scans' }] } })
  expect(json).toEqual({
    complete: false,
    notExported: [
      large('scan.image', '2 large objects that the column refers to'),
      large('scan.preview', '1 large object that the column refers to'),
    ],
  })
  expect((await wharf.root.post('/export', { json: { projects: [{ slug: 'scans' }] } })).status).toBe(409)
  const found = z.object({ complete: z.boolean() })
  const excluded = { projects: [{ slug: 'scans', excludeTables: ['scan'] }] }
  expect(found.parse((await wharf.root.post('/export/dry-run', { json: excluded })).json).complete).toBe(true)
})

test('rows that refer to large objects come from one attached database into another, where they are allowed to lack these', async () => {
  const script = `CREATE DOMAIN lo AS oid; CREATE TABLE scan (id int PRIMARY KEY, image lo, note text);
    CREATE TABLE page (id int PRIMARY KEY, scan_id int REFERENCES scan)`
  const filled = `${script};
    INSERT INTO scan SELECT n, lo_from_bytea(1000 + n, decode(repeat('ab', 3000), 'hex')), 'note ' || n FROM generate_series(1, 500) n;
    INSERT INTO page SELECT n, 1 + n % 500 FROM generate_series(1, 2000) n`
  for (const [slug, made] of [
    ['scanned', filled],
    ['rescanned', script],
  ] as const) {
    const external = await createExternalDatabase(made)
    onTestFinished(() => external.drop())
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
    expect((await wharf.root.post('/projects', { json: { slug, attach } })).status).toBe(201)
  }
  const ask = { projects: [{ slug: 'scanned' }] }
  expect(await wharf.root.post('/export', { json: ask })).toMatchObject({
    status: 409,
    json: { detail: expect.stringContaining('scan.image') },
  })
  const whole = (await wharf.root.post('/export', { json: { ...ask, allowIncomplete: true } })).text
  const refused = await sendArchive(wharf.root, whole, { query: '?targetSlug=rescanned' })
  expect(refused).toMatchObject({ status: 409, json: { title: 'Rows are missing' } })
  const imported = await sendArchive(wharf.root, whole, { query: '?targetSlug=rescanned&allowIncomplete=true' })
  expect(imported.json, imported.text).toMatchObject({ projects: [{ stages: [{ tables: 2, rows: 2500 }] }] })
  const again = (await wharf.root.post('/export', { json: { projects: [{ slug: 'rescanned' }] } })).text
  const rowsOf = (archive: string): readonly string[] =>
    archive.split('\n').filter((line) => line.startsWith('{"row":'))
  expect(rowsOf(again)).toEqual(rowsOf(whole))
  for (const slug of ['scanned', 'rescanned']) {
    expect((await wharf.root.delete(`/projects/${slug}/attachment`)).status).toBe(204)
  }
})

test('values that name what their name alone does not tell are counted, and missing', async () => {
  await createProject(
    wharf,
    'names',
    `CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
     CREATE FUNCTION f(text) RETURNS integer LANGUAGE sql AS 'SELECT 1';
     CREATE VIEW pg_class AS SELECT 1 AS one;
     CREATE DOMAIN called AS regproc;
     CREATE TABLE hook (f called, all_of called[], exactly regprocedure, relation regclass, operator regoper);
     INSERT INTO hook
     SELECT p.oid, ARRAY[p.oid, 'upper(text)'::regprocedure]::called[], p.oid, 'hook', '||/'::regoper FROM pg_proc p
      WHERE proname = 'f' AND pronamespace = quote_ident(current_schema())::regnamespace;
     INSERT INTO hook VALUES (0, NULL, 12345678, '12345678', 0),
                             (NULL, '{}', NULL, (quote_ident(current_schema())::regnamespace || '.pg_class')::regclass, '+(integer,integer)'::regoperator)`,
  )
  const { json } = await wharf.root.post('/export/dry-run', { json: { projects: [{ slug: 'names' }] } })
  const value = (name: string, values: string) => ({
    ...{ stage: 'live', kind: 'value', name: `hook.${name}`, rows: true },
    detail: expect.stringMatching(new RegExp(`^${values} that no import takes, such as .*, whose name alone`)),
  })
  expect(json).toEqual({
    complete: false,
    notExported: [
      value('all_of', '4 values'),
      value('f', '2 values'),
      value('operator', '1 value'),
      value('relation', '1 value'),
    ],
  })
})

test('large objects of another project are nothing to a column that has their numbers', async () => {
  await createProject(wharf, 'neighbour', 'SELECT lo_create(424242)')
  await createProject(wharf, 'numbers', 'CREATE TABLE number (o oid); INSERT INTO number VALUES (424242)')
  expect(stageLine(await exportOf(wharf.root, 'numbers'))).toEqual({ stage: { slug: 'live', complete: true } })
})
