import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { runCommand } from '../../support/cli/cli.ts'
import { dsnOf } from '../../support/cli/dsn.ts'
import { type Operator, operatorOf } from '../../support/database/operator.ts'
import { temporaryFolder } from '../../support/processes/processes.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject, loginUrl } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** The conversion, of which no line tells, has it loaded in place. */
const STRUCTURE = `
  CREATE CONVERSION odd FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
  CREATE FUNCTION twice(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 2 * $1; END';
  CREATE DOMAIN amount AS integer;
  CREATE TABLE t (id integer PRIMARY KEY, a amount, two integer GENERATED ALWAYS AS (twice(id)) STORED);
  CREATE TABLE nothing ();
  CREATE RULE unheard AS ON INSERT TO nothing DO INSTEAD NOTHING;
  ALTER TABLE nothing DISABLE RULE unheard;
  INSERT INTO nothing DEFAULT VALUES;
  ALTER TABLE nothing ENABLE ALWAYS RULE unheard;
  CREATE TABLE parted (id integer CONSTRAINT "to t" REFERENCES t) PARTITION BY RANGE (id);
  CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10);
  COMMENT ON CONSTRAINT "to t" ON part IS 'kept';
  INSERT INTO t VALUES (1, 2);
  INSERT INTO parted VALUES (1);
  CREATE MATERIALIZED VIEW counted AS SELECT 1 / count(*) AS share FROM t;
  ALTER DOMAIN amount ADD CONSTRAINT high CHECK (VALUE > 5) NOT VALID;`

let wharf: TestWharf
let operator: Operator
let archive: string
let login: string

const fill = (sql: string): string => sql.replaceAll('$STAGE', '"shop.live"').replaceAll('$LOGIN', login)

beforeAll(async () => {
  wharf = await startWharf()
  operator = operatorOf(wharf.database)
  await createProject(wharf, 'shop', STRUCTURE)
  archive = await exportOf(wharf.root, 'shop')
  login = `"${decodeURIComponent((await loginUrl(wharf, 'shop')).username)}"`
  await operator.run('CREATE SCHEMA elsewhere')
})

afterAll(() => wharf?.close())

const dryRun = () => sendArchive(wharf.root, archive, { query: '?dryRun=true' })

/** What stands in the way, how it is taken away, and what is said of it. */
const REFUSED: Readonly<Record<string, readonly [string, string, string]>> = {
  'a foreign key of a table elsewhere that is not its own': [
    `GRANT REFERENCES ON $STAGE.t TO PUBLIC; CREATE TABLE elsewhere.u (id integer REFERENCES $STAGE.t)`,
    `DROP TABLE elsewhere.u; REVOKE REFERENCES ON $STAGE.t FROM PUBLIC`,
    'permission denied for schema elsewhere',
  ],
  'a materialized view of another login': [
    `ALTER MATERIALIZED VIEW $STAGE.counted OWNER TO CURRENT_USER`,
    `ALTER MATERIALIZED VIEW $STAGE.counted OWNER TO $LOGIN`,
    'materialized view counted',
  ],
  'a domain of another login that has a check which is NOT VALID': [
    `ALTER DOMAIN $STAGE.amount OWNER TO CURRENT_USER`,
    `ALTER DOMAIN $STAGE.amount OWNER TO $LOGIN`,
    'must be owner of type amount',
  ],
  'a generated column over a function that it may not call': [
    `ALTER FUNCTION $STAGE.twice OWNER TO CURRENT_USER; REVOKE ALL ON FUNCTION $STAGE.twice FROM PUBLIC`,
    `GRANT ALL ON FUNCTION $STAGE.twice TO PUBLIC; ALTER FUNCTION $STAGE.twice OWNER TO $LOGIN`,
    'twice(integer)',
  ],
  'a right of its own that was taken': [
    `REVOKE INSERT ON $STAGE.t FROM $LOGIN`,
    `GRANT INSERT ON $STAGE.t TO $LOGIN`,
    'permission denied for table t',
  ],
  'rows that it may not look at': [
    `REVOKE SELECT ON $STAGE.t FROM $LOGIN`,
    `GRANT SELECT ON $STAGE.t TO $LOGIN`,
    'may not look at all of stage',
  ],
}

test.each(Object.entries(REFUSED))(
  'a dry run of an import in place says no to %s',
  async (_, [make, remove, words]) => {
    await operator.run(fill(make))
    try {
      expect(await dryRun()).toMatchObject({ status: 409, text: expect.stringContaining(words) })
      expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 409 })
    } finally {
      await operator.run(fill(remove))
    }
  },
)

test('where somebody is reading the stage, a dry run says that it would have to wait', async () => {
  await withSession(wharf.database.url, async (reader) => {
    await reader.query(fill('BEGIN; SELECT FROM $STAGE.part'))
    expect(await dryRun()).toMatchObject({ status: 409, text: expect.stringContaining('being read') })
  })
})

test('to all else it says yes, and the import works', async () => {
  expect(await dryRun()).toMatchObject({ json: { projects: [{ stages: [{ mode: 'in place' }] }] } })
  const rows = () =>
    wharf.database.query(
      fill(`SELECT (SELECT count(*) FROM $STAGE.nothing) AS nothing, id, two, share
    FROM $STAGE.t, $STAGE.counted`),
    )
  expect(await rows()).toEqual([{ nothing: '1', id: 1, two: 2, share: '1' }])
  expect(await sendArchive(wharf.root, archive)).toMatchObject({ json: { projects: [{ stages: [{ rows: 3 }] }] } })
  expect(await rows()).toEqual([{ nothing: '1', id: 1, two: 2, share: '1' }])
  const kept = await wharf.database.query(
    fill(`SELECT obj_description(oid, 'pg_constraint') AS comment, convalidated AS valid,
            (SELECT ev_enabled FROM pg_rewrite WHERE rulename = 'unheard') AS rule
            FROM pg_constraint WHERE conrelid = '$STAGE.part'::regclass AND contype = 'f'`),
  )
  expect(kept).toEqual([{ comment: 'kept', valid: true, rule: 'A' }])
})

test('rows of partitions elsewhere stay, and are named before the question and after', async () => {
  await operator.run(fill('CREATE TABLE elsewhere.far PARTITION OF $STAGE.parted FOR VALUES FROM (10) TO (20)'))
  const detail = 'its partition elsewhere.far is in another schema; the rows of that are not exported'
  const notReplaced = [{ kind: 'partitioned table', name: 'parted', detail }]
  for (const query of ['?dryRun=true', '']) {
    const answer = await sendArchive(wharf.root, archive, { query })
    expect(answer).toMatchObject({ status: 200, json: { projects: [{ stages: [{ notReplaced }] }] } })
  }
  const words = `warning: shop/live keeps rows that no archive can hold:\n  partitioned table parted (${detail})\n`
  const file = join(await temporaryFolder(), 'shop.jsonl')
  await writeFile(file, archive)
  const asked = await runCommand(['data:import', file, dsnOf(wharf, 'shop')], { terminal: true, input: 'n\n' })
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining(words) })
  for (const option of ['--dry-run', '--yes']) {
    const done = await runCommand(['data:import', file, dsnOf(wharf, 'shop'), option])
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining(words) })
  }
})

test('a schema that belongs to another login keeps its owner, and where that cannot be, the dry run says so', async () => {
  const schemaOwner = () =>
    wharf.database.query(`SELECT nspowner::regrole::text AS owner FROM pg_namespace WHERE nspname = 'owned.live'`)
  await createProject(wharf, 'owned', 'CREATE TABLE t (n integer); INSERT INTO t VALUES (1)')
  const lines = await exportOf(wharf.root, 'owned')
  const send = (query: string) => sendArchive(wharf.root, lines, { query })
  await operator.run(`GRANT ALL ON SCHEMA "owned.live" TO PUBLIC; ALTER SCHEMA "owned.live" OWNER TO CURRENT_USER`)
  expect(await send('?dryRun=true')).toMatchObject({ json: { projects: [{ stages: [{ mode: 'in place' }] }] } })
  expect(await send('')).toMatchObject({ json: { projects: [{ stages: [{ rows: 1 }] }] } })
  expect(await schemaOwner()).toEqual([{ owner: 'postgres' }])

  await operator.run(`REVOKE ALL ON SCHEMA "owned.live" FROM PUBLIC`)
  const unusable = { status: 409, text: expect.stringContaining('may not use the schema') }
  for (const query of ['?dryRun=true', '']) expect(await send(query)).toMatchObject(unusable)
  await operator.run(`GRANT ALL ON SCHEMA "owned.live" TO PUBLIC; DROP TABLE "owned.live".t`)
  const empty = { status: 409, text: expect.stringContaining('nothing can be built') }
  for (const query of ['?dryRun=true', '']) expect(await send(query)).toMatchObject(empty)
  expect(await schemaOwner()).toEqual([{ owner: 'postgres' }])
})
