import { afterAll, beforeAll, expect, test } from 'vitest'
import { readArchive } from '../../src/archive/read-archive.ts'
import { copyText } from '../../src/copy/copy-encoders.ts'
import { sendArchive } from '../support/archives/import.ts'
import { type DatabaseState, readState } from '../support/database/database-state.ts'
import type { ApiClient } from '../support/http/api-client.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { applyScript } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { someOf } from '../support/thorough.ts'
import {
  archiveAround,
  declaredTexts,
  HOSTILE_LINE,
  hostileLineOf,
  lineWith,
  SQL_FIELDS,
  type SqlFieldSample,
} from './hostile-lines.ts'

/** What would be seen of any of it that is run. */
const SAFE = '"guest.safe"'
const EFFECT = `CREATE TABLE ${SAFE}.canary ()`

/** Text that comes behind what is right. */
const BEHIND: readonly string[] = [
  `; ${EFFECT}`,
  `; ${EFFECT}; --`,
  `); ${EFFECT}; --`,
  `')); ${EFFECT}; --`,
  `"); ${EFFECT}; --`,
  ', ENABLE ROW LEVEL SECURITY',
  `, ALTER COLUMN b TYPE text USING (wharf.execute_script('${EFFECT}')::text)`,
  `, ADD COLUMN c text DEFAULT wharf.execute_script('${EFFECT}')::text`,
  `, c text DEFAULT wharf.execute_script('${EFFECT}')::text`,
  `, INHERIT ${SAFE}.thing`,
  `) INHERITS (${SAFE}.thing`,
  ' -- a comment',
  ' /* a comment */',
  ` ${'/*'.repeat(100_000)}`,
  ` $$${EFFECT}$$`,
  ` $x$${EFFECT}$x$`,
  ` E'\\'; ${EFFECT}; --'`,
  ` U&'\\0027'`,
  ` "`,
  ` '`,
  `\\; ${EFFECT}`,
  ' + $1',
  `${' + 1'.repeat(200_000)}`,
]

/** Text in the place of what is right. */
const INSTEAD: readonly string[] = [
  ' ',
  ';',
  EFFECT,
  'ROLLBACK TO SAVEPOINT x',
  'SELECT 1',
  `DO $$ BEGIN ${EFFECT}; END $$`,
  `${'('.repeat(50_000)}1${')'.repeat(50_000)}`,
  'CREATE INDEX CONCURRENTLY name ON t USING btree (a)',
  `CREATE INDEX name ON ${SAFE}.thing USING btree (id)`,
  'CREATE INDEX other ON t USING btree (a)',
  'PRIMARY KEY USING INDEX name',
  `FOREIGN KEY (a) REFERENCES ${SAFE}.thing(id)`,
]

/** Expressions that act, or reach out of the stage. */
const ACTING: readonly string[] = [
  `wharf.execute_script('${EFFECT}')::text`,
  `WHARF.execute_script('${EFFECT}')::text`,
  `"wharf"."execute_script"('${EFFECT}')::text`,
  `set_config('search_path', 'guest.safe', false)`,
  `pg_catalog.set_config('role', 'wharf', false)`,
  `setval('s', 7)`,
  `nextval('${SAFE}.counter')`,
  `nextval('${SAFE}.counter'::regclass)`,
  `'${SAFE}.thing'::regclass`,
  `query_to_xml('${EFFECT}', true, true, '')`,
  `pg_notify('canary', 'x')`,
  `lo_import('/etc/passwd')`,
  `pg_read_file('/etc/passwd')`,
  `dblink('', '${EFFECT}')`,
  `(SELECT count(*) FROM ${SAFE}.thing)`,
  `EXISTS (SELECT FROM ${SAFE}.thing)`,
  `1 OPERATOR(${SAFE}.+) 1`,
  `NULL::${SAFE}.thing`,
  `a COLLATE ${SAFE}.c`,
  `nextval('${SAFE}.counter'::text)`,
  `nextval(('${SAFE}.counter')::text)`,
  `nextval(('${SAFE}.counter'::text)::regclass)`,
  `nextval(a)`,
  `nextval('${SAFE}.' || 'counter')`,
  `nextval('16384')`,
  `nextval(16384::regclass)`,
  `'${SAFE}.thing'::text::regclass`,
  `CAST('${SAFE}.thing' || '' AS regclass)`,
  `CAST(a AS pg_catalog.regclass)`,
  `'${SAFE}.thing'::name::regclass`,
  `'{${SAFE}.thing}'::regclass[]`,
  `'{${SAFE}.thing}'::_regclass`,
  `'pg_catalog.abs(${SAFE}.thing)'::regprocedure`,
  `regclass('${SAFE}.thing')`,
  `regclassin('${SAFE}.thing')`,
  `to_regclass('${SAFE}.thing')`,
  `array_in('{${SAFE}.thing}', 2205, -1)`,
  `to_tsvector('${SAFE}.words', a)`,
  `table_to_xml('thing', true, true, '')`,
  `has_table_privilege('${SAFE}.thing', 'SELECT')`,
  `obj_description('${SAFE}.thing'::regclass)`,
  'pg_sleep(1000000)',
  `pg_sleep_for('1 year')`,
  'PG_CATALOG.PG_SLEEP(1000000)',
  'pg_advisory_lock(1)',
  'pg_try_advisory_xact_lock(1)',
  'pg_export_snapshot()',
  'pg_log_backend_memory_contexts(1)',
  `pg_clear_relation_stats('public', 'thing')`,
  `pg_relation_size('thing')`,
  'setseed(0)',
  `ts_rewrite('a', 'SELECT 1')`,
]

const hostileTexts = ({ honest, around, mayAct }: SqlFieldSample): readonly string[] => [
  ...BEHIND.map((text) => honest + text),
  // A query in the place of another is one.
  ...INSTEAD.filter((text) => text !== honest && !(text.startsWith('SELECT') && honest.startsWith('SELECT'))),
  ...ACTING.filter((text) => !mayAct || REACHES_OUT.test(text)).map(around),
]

/** What names something in another schema as such, and not in a text. */
const REACHES_OUT = /^"?wharf"?\.|(?:FROM |OPERATOR\(|::|COLLATE )"guest\.safe"\./i

const line = (kind: string, content: unknown): string => JSON.stringify({ [kind]: content })

const NUMBERS = { start: '1', increment: '1', min: '1', max: '9', cache: '1', value: '1' }
const SEQUENCE = { name: 's', type: 'bigint', ...NUMBERS, cycle: false, called: false }
const DOMAIN = { name: 'd', type: 'text', nullable: true }
const RANGE = { name: 'r', subtype: 'text' }
const withCollation = { name: 'a', type: 'text', collation: `"C"); ${EFFECT}; --` }

const tableLine = (more: Readonly<Record<string, unknown>>): string =>
  line('table', {
    name: 't',
    columns: ['a', 'b'].map((name) => ({ name, type: 'text', nullable: true, ...(name === 'a' && more) })),
  })

const nameOf = ({ kind, path }: SqlFieldSample): string => [kind, ...path].join('.')

let wharf: TestWharf
/** May import, and change structure. */
let builder: ApiClient
/** May import. */
let importer: ApiClient
let before: DatabaseState

beforeAll(async () => {
  wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1' } })
  await wharf.root.post('/projects', { json: { slug: 'guest', stages: ['live', 'safe'] } })
  await applyScript(wharf, 'guest', 'CREATE TABLE thing (id integer PRIMARY KEY); CREATE SEQUENCE counter', 'safe')
  await wharf.root.put('/projects/guest/roles/builder', { json: { content: { import: true, structure: true } } })
  await wharf.root.put('/projects/guest/roles/importer', { json: { content: { import: true } } })
  builder = await wharf.member('guest', 'builder')
  importer = await wharf.member('guest', 'importer')
  before = await readState(wharf.database)
})

afterAll(() => wharf.close())

test('every text of a structure line is declared: as SQL that is parsed, or as a value that is quoted or closed', () => {
  const declared = [...declaredTexts()]
  expect(declared.filter(([, holds]) => holds !== 'SQL' && holds !== 'value')).toEqual([])
  const sql = declared.filter(([, holds]) => holds === 'SQL').map(([path]) => path)
  expect(sql.toSorted()).toEqual(SQL_FIELDS.map(nameOf).toSorted())
})

const FIELDS = SQL_FIELDS.map((sample) => ({ name: nameOf(sample), sample }))

const archiveWith = (sample: SqlFieldSample, text: string): string =>
  archiveAround('guest', 'live', lineWith(sample, text))

test.each(someOf(FIELDS, 3))('an archive with honest SQL in $name would be built', async ({ sample }) => {
  const answer = await sendArchive(builder, archiveWith(sample, sample.honest), { query: '?dryRun=true' })
  expect(answer, answer.text).toMatchObject({ status: 200 })
})

test.each(FIELDS)('has an archive read that holds more than it should in $name', async ({ name, sample }) => {
  for (const text of hostileTexts(sample)) {
    const reading = (async () => {
      for await (const item of readArchive(chunks(archiveWith(sample, text)), copyText))
        if (item.kind === sample.kind && item.line === hostileLineOf(sample)) return
    })()
    const refused = { code: 'ARCHIVE_INVALID', faults: [{ line: hostileLineOf(sample) }] }
    await expect(reading, text.slice(0, 100)).rejects.toMatchObject(refused)
    await expect(reading, text.slice(0, 100)).rejects.toThrow(`${name}: `)
  }
})

test.each(someOf(FIELDS, 3))('runs SQL of its own through $name', async ({ name, sample }) => {
  const texts = hostileTexts(sample).filter((text) => text.includes(EFFECT))
  // A reading refuses all of them already, in the test above.
  for (const text of someOf(texts, 4)) {
    const answer = await sendArchive(builder, archiveWith(sample, text))
    const what = `${text.slice(0, 100)}: ${answer.text}`
    expect(answer, what).toMatchObject({ status: 400, json: { errors: [{ line: hostileLineOf(sample) }] } })
    expect(answer.text, what).toContain(`"detail":"${name}: `)
  }
  const refused = await sendArchive(importer, archiveWith(sample, texts[0] ?? ''))
  expect(refused, refused.text).toMatchObject({ status: 403 })
  expect(refused.text).toContain('content.structure')
  // What could not be dropped is said in the log.
  expect(await readState(wharf.database), wharf.log()).toEqual(before)
})

/** Values of a closed form that are not quoted, each with text that would be run if they were taken for it. */
const CLOSED: readonly (readonly [field: string, line: string])[] = [
  ['sequence.type', line('sequence', { ...SEQUENCE, type: `bigint; ${EFFECT}; --` })],
  ['sequence.start', line('sequence', { ...SEQUENCE, start: `1; ${EFFECT}; --` })],
  ['sequence.value', line('sequence', { ...SEQUENCE, value: `1, true); ${EFFECT}; --` })],
  ['domain.collation', line('domain', { ...DOMAIN, collation: `"C"; ${EFFECT}; --` })],
  ['composite.attributes.0.collation', line('composite', { name: 'c', attributes: [withCollation] })],
  ['range.operatorClass', line('range', { ...RANGE, operatorClass: `text_ops); ${EFFECT}; --` })],
  ['range.collation', line('range', { ...RANGE, collation: `wharf.c` })],
  ['range.difference', line('range', { ...RANGE, difference: `"guest.safe".f` })],
  ['table.columns.0.collation', tableLine({ collation: `"C"); ${EFFECT}; --` })],
  ['table.columns.0.storage', tableLine({ storage: `plain, ADD COLUMN b text DEFAULT wharf.execute_script('x')` })],
  ['table.columns.0.compression', tableLine({ compression: 'pglz, ENABLE ROW LEVEL SECURITY' })],
  ['table.columns.0.generatedKind', tableLine({ generated: '1', generatedKind: `stored); ${EFFECT}; --` })],
  ['table.columns.0.statistics', tableLine({ statistics: `1, ENABLE ROW LEVEL SECURITY` })],
]

test.each(CLOSED)('runs SQL through %s, which is pasted as it is', async (name, hostile) => {
  const answer = await sendArchive(builder, archiveAround('guest', 'live', hostile))
  expect(answer, answer.text).toMatchObject({ status: 400, json: { errors: [{ line: HOSTILE_LINE }] } })
  expect(answer.text).toContain(`"detail":"${name}: `)
})

test.each(['table.checks.0.definition', 'table.columns.0.type', 'domain.default'])(
  'runs SQL at the other end of a transfer, through %s',
  async (name) => {
    const sample = SQL_FIELDS.find((each) => nameOf(each) === name)
    if (!sample) throw new Error(`there is no field ${name}`)
    const text = sample.honest + BEHIND[0]
    const { url } = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(archiveWith(sample, text))
    })
    const source = { dsn: url.replace('http://', 'wharf+http://guest:TOKEN@') }
    const target = { project: 'guest' }
    const job = jobOf(await builder.post('/transfer', { json: { source, target } }))
    const ended = await untilEnded(builder, job)
    expect(ended, JSON.stringify(ended.error)).toMatchObject({
      status: 'failed',
      error: { code: 'ARCHIVE_INVALID', errors: [{ line: HOSTILE_LINE }] },
    })
    expect(JSON.stringify(ended.error)).toContain(`${name}: `)
    expect(await wharf.database.query(`SELECT relname FROM pg_class WHERE relname IN ('canary', 't')`)).toEqual([])
  },
)

async function* chunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
