import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ObjectLine } from '../../../src/transfer/structure/lines.ts'
import { buildArchive, column, type StageToWrite, type TableToWrite } from '../../support/archives/archive-builder.ts'
import { sendArchive } from '../../support/archives/import.ts'
import { type DatabaseState, readState } from '../../support/database/database-state.ts'
import { openTransactions } from '../../support/database/transactions.ts'
import type { ApiAnswer, ApiClient } from '../../support/http/api-client.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

const THING = 'CREATE TABLE thing (id integer PRIMARY KEY); INSERT INTO thing VALUES (1), (2);'
const DROP = 'DROP SCHEMA "guest.safe" CASCADE'
const OUT = `x"; ${DROP}; --`

/** A table with one column and one row. */
const table = (more: Partial<TableToWrite> = {}): TableToWrite => ({
  name: 't',
  columns: [column('a', 'integer')],
  rows: [[1]],
  ...more,
})

const withTable = (more: Partial<TableToWrite>): StageToWrite => ({ tables: [table(more)] })
const withType = (type: string): StageToWrite => withTable({ columns: [column('a', type)] })
const withCheck = (definition: string): StageToWrite => withTable({ checks: [{ name: 'c', definition }] })
const withDefault = (expression: string): StageToWrite =>
  withTable({ columns: [column('a', 'integer', { default: expression })] })
const withIndex = (definition: string): StageToWrite => withTable({ indexes: [{ name: 'i', definition }] })

const withObject = (kind: ObjectLine['kind'], more: object): StageToWrite => ({
  tables: [table({})],
  afterTables: [{ kind, content: { name: 'o', ...more } } as ObjectLine],
})
const withFunction = (definition: string, more: object = {}): StageToWrite => ({
  beforeTables: [
    { kind: 'function', content: { name: 'o', arguments: '', kind: 'function', definition, ...more } } as ObjectLine,
  ],
})

/** A table with a row and a check that calls a function, then one with another check. */
const withChecked = (body: string): StageToWrite => ({
  ...withFunction(`CREATE FUNCTION o() RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN ${body} END $f$`),
  tables: [
    table({ checks: [{ name: 'c', definition: 'CHECK (o())' }], rows: [[1]] }),
    table({ name: 'z', checks: [{ name: 'd', definition: 'CHECK (a > 0)' }] }),
  ],
})

const withPartition = (bound: string): StageToWrite => ({
  tables: [table({ partitionBy: 'LIST (a)' }), table({ name: 'u', partitionOf: { table: 't', bound } })],
})

const sequence = {
  name: 's',
  type: 'bigint' as const,
  start: '1',
  increment: '1',
  min: '1',
  max: '9',
  cache: '1',
  cycle: false,
}
const position = { value: '1', called: false }
const enormous = '9'.repeat(500)

/** What the answer is: taken, since it does no harm, or refused. */
const TRICKS: Readonly<Record<string, readonly [StageToWrite, number]>> = {
  'a table name that ends its quotes': [withTable({ name: OUT }), 200],
  'a column name that ends its quotes': [withTable({ columns: [column(OUT, 'integer')] }), 200],
  'a constraint name that ends its quotes': [withTable({ checks: [{ name: OUT, definition: 'CHECK (true)' }] }), 200],
  'a sequence name that ends its quotes': [{ sequences: [{ ...sequence, ...position, name: OUT }] }, 200],
  'an enum whose name and values end their quotes': [
    { beforeTables: [{ kind: 'enum', content: { name: OUT, values: [`x'); ${DROP}; --`, '\\'] } }] },
    200,
  ],
  'comments that end their quotes': [
    { comment: `x'; ${DROP}; --`, tables: [table({ comment: `\\'; ${DROP}; --` })] },
    200,
  ],
  'an index name that ends its quotes': [
    withTable({
      indexes: [{ name: OUT, definition: `CREATE INDEX "${OUT.replaceAll('"', '""')}" ON t USING btree (a)` }],
    }),
    200,
  ],
  'storage parameters that end their quotes': [withTable({ options: [`fillfactor=70'); ${DROP}; --`] }), 409],

  'a type that ends the statement': [withType(`integer); ${DROP}; --`), 400],
  'a type that brings another column': [withType('integer, "b" integer DEFAULT 1'), 400],
  'a type that brings a check': [withType('integer CHECK (true)'), 400],
  'a type that inherits from another stage': [
    withTable({ columns: [column('id', 'integer) INHERITS ("guest.safe".thing')] }),
    400,
  ],
  'a type that refers to another stage': [withType('integer REFERENCES "guest.safe".thing'), 400],
  'a type that makes it a partitioned table': [withType('integer) PARTITION BY LIST (a'), 400],
  'a partition key that ends the statement': [withTable({ partitionBy: `LIST (a); ${DROP}` }), 400],
  'a partition key that brings a tablespace': [withTable({ partitionBy: 'LIST (a) TABLESPACE pg_global' }), 400],
  'a partition key that brings a query': [
    withTable({ partitionBy: 'LIST (a) WITH (fillfactor = 70) AS SELECT 1' }),
    400,
  ],
  'a partition key that reads a file of the server': [
    withTable({ partitionBy: `LIST (pg_read_file('/etc/passwd'))` }),
    400,
  ],
  'a bound that ends the statement': [withPartition(`DEFAULT; ${DROP}`), 400],
  'a bound that is another action': [withPartition('DEFAULT, OWNER TO wharf'), 400],
  'a bound that reads a file of the server': [withPartition(`FOR VALUES IN (pg_read_file('/etc/passwd'))`), 400],
  'an index of a partitioned table on its partitions, too': [
    withTable({ partitionBy: 'LIST (a)', indexes: [{ name: 'i', definition: 'CREATE INDEX i ON t USING btree (a)' }] }),
    400,
  ],
  'a domain that ends the statement': [
    { beforeTables: [{ kind: 'domain', content: { name: 'd', type: `integer; ${DROP}; --`, nullable: true } }] },
    400,
  ],
  'a range that ends the statement': [
    { beforeTables: [{ kind: 'range', content: { name: 'r', subtype: `int4); ${DROP}; --` } }] },
    400,
  ],

  'a check with a statement behind it': [withCheck(`CHECK (true); ${DROP}`), 400],
  'a check that inherits from another stage': [withCheck('CHECK (true), INHERIT "guest.safe".thing'), 400],
  'a check with another action behind it': [withCheck('CHECK (true), ENABLE ROW LEVEL SECURITY'), 400],
  'a check that reads a file of the server': [withCheck(`CHECK (pg_read_file('/etc/passwd') IS NULL)`), 400],
  'a check that reads a program': [withCheck(`CHECK (pg_read_binary_file('/etc/shadow') IS NULL)`), 400],
  'a check that takes another role': [withCheck(`CHECK (set_config('role', 'wharf', false) IS NULL)`), 400],
  'a check that becomes another session': [
    withCheck(`CHECK (set_config('session_authorization', 'postgres', false) IS NULL)`),
    400,
  ],
  'a check that imports a file': [withCheck(`CHECK (lo_import('/etc/passwd') IS NULL)`), 400],
  'a check that connects elsewhere': [withCheck(`CHECK (dblink('', 'DROP TABLE thing') IS NULL)`), 400],
  'a check that reads the tokens': [
    withCheck(`CHECK (query_to_xml('SELECT * FROM control.token', true, true, '') IS NULL)`),
    400,
  ],
  'a check that reads the event logs': [
    withCheck(`CHECK (query_to_xml('SELECT * FROM system.event', true, true, '') IS NULL)`),
    400,
  ],
  'a check that reads another project': [
    withCheck(`CHECK (query_to_xml('SELECT * FROM "other.live".thing', true, true, '') IS NULL)`),
    400,
  ],
  'a check that runs a script': [withCheck(`CHECK (wharf.execute_script('${DROP}')::text IS NOT NULL)`), 400],
  'a check that logs an import': [withCheck('CHECK (wharf.record_import(gen_random_uuid(), NULL) IS NULL)'), 400],
  'a check that ends the transaction': [withCheck(`CHECK (wharf.execute_script('COMMIT')::text IS NOT NULL)`), 400],
  'a check that turns the rest to another stage': [
    {
      tables: [
        { name: 'thing', columns: [column('id', 'integer')], rows: [[1]] },
        table({
          checks: [{ name: 'c', definition: `CHECK (set_config('search_path', '"guest.safe"', true) IS NOT NULL)` }],
        }),
        table({ name: 'z', checks: [{ name: 'd', definition: 'CHECK (a > 0)' }] }),
      ],
    },
    400,
  ],
  'a view that makes a table': [withObject('view', { columns: [], definition: 'SELECT 1 AS n INTO x' }), 400],
  'a view of another stage': [
    withObject('view', { columns: [], definition: 'SELECT id FROM "guest.safe".thing' }),
    400,
  ],
  'a view that ends the statement': [withObject('view', { columns: [], definition: `SELECT 1; ${DROP}` }), 400],
  'a view that ends its columns': [withObject('view', { columns: [{ name: OUT }], definition: 'SELECT 1' }), 200],
  'a view that is a command': [
    withObject('view', { columns: [], definition: 'WITH w AS (DELETE FROM t RETURNING a) SELECT a FROM w' }),
    409,
  ],
  'a materialized view of the tokens': [
    withObject('materializedView', { columns: [], definition: 'SELECT * FROM control.token', populated: true }),
    400,
  ],
  'a materialized view that reads the tokens by a function': [
    withObject('materializedView', {
      columns: [],
      definition: `SELECT query_to_xml('SELECT * FROM control.token', true, true, '')`,
      populated: true,
    }),
    409,
  ],
  'an index of a materialized view on another table': [
    withObject('materializedView', {
      columns: [],
      definition: 'SELECT 1 AS n',
      indexes: [{ name: 'i', definition: 'CREATE INDEX i ON "guest.safe".thing USING btree (id)' }],
      populated: true,
    }),
    400,
  ],
  'a function in another stage': [
    withFunction(`CREATE FUNCTION "guest.safe".o() RETURNS integer LANGUAGE sql AS 'SELECT 1'`),
    400,
  ],
  'a function of another name': [withFunction(`CREATE FUNCTION p() RETURNS integer LANGUAGE sql AS 'SELECT 1'`), 400],
  'a function with a statement behind it': [
    withFunction(`CREATE FUNCTION o() RETURNS integer LANGUAGE sql AS 'SELECT 1'; ${DROP}`),
    400,
  ],
  'a function that ends its own dollar quote': [
    withFunction(`CREATE FUNCTION o() RETURNS integer LANGUAGE sql AS $a$SELECT 1$a$; ${DROP} -- $a$`),
    400,
  ],
  'a function whose arguments end the comment on it': [
    withFunction(`CREATE FUNCTION o() RETURNS integer LANGUAGE sql AS 'SELECT 1'`, {
      arguments: `), "guest.safe".f(`,
      comment: 'x',
    }),
    400,
  ],
  'a function with other arguments than it says': [
    withFunction(`CREATE FUNCTION o(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'`),
    409,
  ],
  'a function in C': [withFunction(`CREATE FUNCTION o() RETURNS integer LANGUAGE c AS 'libc', 'system'`), 409],
  'a function that is internal': [
    withFunction(`CREATE FUNCTION o() RETURNS integer LANGUAGE internal AS 'pg_backend_pid'`),
    409,
  ],
  'a function that a check calls, and that makes a table': [withChecked(`CREATE TABLE extra (); RETURN true;`), 409],
  'a function that a check calls, and that becomes Wharf': [
    withChecked(`PERFORM set_config('role', 'wharf', false); RETURN true;`),
    409,
  ],
  'a function that a check calls, and that ends the transaction': [withChecked('COMMIT; RETURN true;'), 409],
  'a function that a check calls, and that turns the rest to another stage': [
    withChecked(`PERFORM set_config('search_path', '"guest.safe"', true); RETURN true;`),
    409,
  ],
  'a trigger on a table of another stage': [
    withObject('trigger', {
      table: 'thing',
      definition: 'CREATE TRIGGER o AFTER INSERT ON "guest.safe".thing EXECUTE FUNCTION wharf.log_statement()',
      enabled: 'origin',
    }),
    400,
  ],
  'a rule with a statement behind it': [
    withObject('rule', {
      table: 't',
      definition: `CREATE RULE o AS ON INSERT TO t DO INSTEAD NOTHING; ${DROP}`,
      enabled: 'origin',
    }),
    400,
  ],
  'a rule that takes the place of another': [
    withObject('rule', { table: 't', definition: 'CREATE RULE p AS ON INSERT TO t DO NOTHING', enabled: 'origin' }),
    400,
  ],
  'a policy for a role of the server': [
    withObject('policy', { table: 't', definition: 'CREATE POLICY o ON t TO wharf USING (true)' }),
    400,
  ],
  'an operator that calls another stage': [
    {
      beforeTables: [
        {
          kind: 'operator',
          content: {
            name: '===',
            right: 'integer',
            definition: 'CREATE OPERATOR === (FUNCTION = "guest.safe".f, RIGHTARG = integer)',
          },
        },
      ],
    },
    400,
  ],
  "a cast of PostgreSQL's own types": [
    {
      beforeTables: [
        {
          kind: 'cast',
          content: {
            name: 'c',
            source: 'integer',
            target: 'boolean',
            definition: 'CREATE CAST (integer AS boolean) WITH INOUT AS IMPLICIT',
          },
        },
      ],
    },
    409,
  ],
  'statistics of a table of another stage': [
    withObject('statistics', { table: 'thing', definition: 'CREATE STATISTICS o ON id, name FROM "guest.safe".thing' }),
    400,
  ],
  'a text search dictionary that is another': [
    {
      beforeTables: [
        {
          kind: 'textSearchDictionary',
          content: { name: 'o', definition: 'CREATE TEXT SEARCH DICTIONARY p (TEMPLATE = simple)' },
        },
      ],
    },
    400,
  ],
  'a foreign key into another stage': [
    withTable({
      foreignKeys: [
        { name: 'f', definition: 'FOREIGN KEY (a) REFERENCES "guest.safe".thing (id)', references: 'thing' },
      ],
    }),
    400,
  ],
  'a foreign key into another project': [
    withTable({
      foreignKeys: [
        { name: 'f', definition: 'FOREIGN KEY (a) REFERENCES "other.live".thing (id)', references: 'thing' },
      ],
    }),
    400,
  ],
  'a domain whose check reads a file': [
    {
      beforeTables: [
        {
          kind: 'domain',
          content: {
            name: 'd',
            type: 'integer',
            nullable: true,
            checks: [{ name: 'c', definition: `CHECK (pg_read_file('/etc/passwd') IS NULL)` }],
          },
        },
      ],
      tables: [table({ columns: [column('a', 'd')] })],
    },
    400,
  ],

  'a default with a statement behind it': [withDefault(`1; ${DROP}`), 400],
  'a default that inherits from another stage': [withDefault('1, INHERIT "guest.safe".thing'), 400],
  'a default that reads a file, when a row is written without': [
    withDefault(`length(pg_read_file('/etc/passwd'))`),
    400,
  ],
  'a generated value that reads a file': [
    withTable({
      columns: [
        column('a', 'integer'),
        column('b', 'text', { generated: `pg_read_file('/etc/passwd')`, generatedKind: 'stored' }),
      ],
    }),
    400,
  ],

  'an index that is another statement': [withIndex(DROP), 400],
  'an index that ends the transaction': [withIndex('COMMIT'), 400],
  'an index of another stage': [withIndex('CREATE INDEX i ON "guest.safe".thing USING btree (id)'), 400],
  'an index of another name': [withIndex('CREATE INDEX j ON t USING btree (a)'), 400],
  'an index with a statement behind it': [withIndex(`CREATE INDEX i ON t USING btree (a); ${DROP}`), 400],
  'an index that reads a file': [withIndex(`CREATE INDEX i ON t USING btree (pg_read_file('/etc/passwd'))`), 400],
  'an index whose condition reads a file': [
    withIndex(`CREATE INDEX i ON t USING btree (a) WHERE (pg_read_file('/etc/passwd') IS NULL)`),
    400,
  ],
  'an exclusion constraint that reads a file': [
    withTable({
      exclusions: [{ name: 'e', definition: `EXCLUDE USING btree (length(pg_read_file('/etc/passwd')) WITH =)` }],
    }),
    400,
  ],

  'a sequence of enormous numbers': [
    { sequences: [{ ...sequence, ...position, max: enormous, value: enormous, cache: enormous }] },
    409,
  ],
  'a sequence that stands beyond its end': [{ sequences: [{ ...sequence, value: '10', called: true }] }, 409],
  'a thousand and six hundred columns': [
    withTable({
      columns: Array.from({ length: 1600 }, (_, at) => column(`c${at}`, 'integer')),
      rows: [Array.from({ length: 1600 }, (_, at) => at)],
    }),
    200,
  ],
  'one column more': [
    withTable({ columns: Array.from({ length: 1601 }, (_, at) => column(`c${at}`, 'integer')), rows: [] }),
    409,
  ],
  'a row that no page holds': [
    withTable({
      columns: Array.from({ length: 1600 }, (_, at) => column(`c${at}`, 'uuid')),
      rows: [Array.from({ length: 1600 }, () => '0191d0a4-7c1e-7b7a-9a54-1f2e3d4c5b6a')],
    }),
    409,
  ],
}

const tricks = Object.entries(TRICKS).map(([name, [stage, status]], at) => ({
  name,
  stage: { ...stage, slug: `s${at}` },
  status,
}))

/** Everything but the stages that are made to be harmed. */
const BYSTANDERS = `nspname IN ('guest.safe', 'other.live', 'control', 'wharf', 'public')`

let wharf: TestWharf
let guest: ApiClient
let before: DatabaseState

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'other', THING)
  const stages = ['safe', 'slow', 'wide', ...tricks.map(({ stage }) => stage.slug)]
  expect(await wharf.root.post('/projects', { json: { slug: 'guest', stages } })).toMatchObject({ status: 201 })
  expect(await applyScript(wharf, 'guest', THING, 'safe')).toMatchObject({ status: 200 })
  const role = { content: { import: true, structure: true } }
  await wharf.root.put('/projects/guest/roles/importer', { json: role })
  guest = await wharf.member('guest', 'importer')
  before = await readState(wharf.database, BYSTANDERS)
})

afterAll(() => wharf.close())

const send = (stage: StageToWrite, signal?: AbortSignal): Promise<ApiAnswer> =>
  sendArchive(guest, buildArchive({ slug: 'guest', stages: [stage] }), signal && { signal })

const relationsOf = (schema: string): Promise<{ name: string }[]> =>
  wharf.database.query(
    `SELECT relname::text AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1`,
    [schema],
  )

const leftovers = (): Promise<unknown[]> =>
  wharf.database.query(`SELECT schema_name FROM system.side_schema WHERE kind = 'loading'`)

test.each(tricks)('$name does no harm', async ({ stage, status }) => {
  const answer = await send(stage)
  expect(answer, answer.text).toMatchObject({ status })
  expect(answer.text).not.toMatch(/root:|rolpassword/)
  expect((await relationsOf(`guest.${stage.slug}`)).length > 0).toBe(status === 200 && !stage.beforeTables)
  expect(await leftovers()).toEqual([])
  expect(await readState(wharf.database, BYSTANDERS)).toEqual(before)
})

const MANY_TABLES = isThorough ? 2000 : 600

test('very many tables are imported, or refused whole', async () => {
  const tables = Array.from({ length: MANY_TABLES }, (_, at) => table({ name: `t${at}` }))
  const { status, text } = await send({ slug: 'wide', tables })
  expect([200, 409], text).toContain(status)
  expect(await relationsOf('guest.wide')).toHaveLength(status === 200 ? MANY_TABLES : 0)
  expect(await readState(wharf.database, BYSTANDERS)).toEqual(before)
})

test('an expression that takes for ever ends when its client goes away', async () => {
  const controller = new AbortController()
  const sleeping = async (): Promise<number> =>
    (await openTransactions(wharf)).filter(({ query }) => query.includes('factorial') || query.startsWith('COPY'))
      .length
  const asked = send(
    { ...withCheck(`CHECK (${Array(500).fill('factorial(32000) > 0').join(' AND ')})`), slug: 'slow' },
    controller.signal,
  )
  const failure = expect(asked).rejects.toThrow()
  await expect.poll(sleeping, { timeout: 30_000 }).toBe(1)
  controller.abort()
  await failure
  await expect.poll(sleeping, { timeout: 30_000 }).toBe(0)
  await expect.poll(leftovers, { timeout: 30_000 }).toEqual([])
  expect(await relationsOf('guest.slow')).toEqual([])
  expect(await readState(wharf.database, BYSTANDERS)).toEqual(before)
})
