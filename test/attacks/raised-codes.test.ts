import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * Functions of a project that raise the codes by which PostgreSQL says that it shuts down, is full, is damaged, or that the
 * same would go well another time.
 */

const CODES = [
  ...(['57P01', '57014', '53300', '53100', '53200', '40001', '40P01', '55P03', '08006'] as const),
  ...(['25006', '28P01', '28000', '3D000', '58030', 'XX000', 'XX001', '3F000', '42P01', '42501', '2D000'] as const),
] as const

const raising = (code: string): string => `BEGIN RAISE EXCEPTION 'Connection terminated' USING ERRCODE = '${code}'; END`

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'raises',
    `CREATE TABLE item (id int PRIMARY KEY, code text NOT NULL);
     CREATE FUNCTION raised(code text) RETURNS boolean LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'Connection terminated' USING ERRCODE = code; END $$;
     CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM raised(NEW.code); RETURN NEW; END $$;
     CREATE TRIGGER on_insert BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION on_insert();
     CREATE VIEW items AS SELECT * FROM item WHERE raised(code)`,
  )
})

afterAll(() => wharf?.close())

test.for(CODES)('%s in a trigger is the refusal of a write, with that code', async (code) => {
  const answer = await wharf.root.post('/content/raises/live/item', { json: { id: 1, code } })
  expect(answer).toMatchObject({ status: 400, json: { type: 'urn:wharf:error:invalid-request', code } })
  expect(answer.headers).not.toHaveProperty('retry-after')
})

test.for(CODES)('%s in a script is the refusal of the script, with the line, at the first attempt', async (code) => {
  const script = `SELECT 1;\nDO $$ ${raising(code)} $$`
  expect(await applyScript(wharf, 'raises', script)).toMatchObject({
    status: 422,
    json: { type: 'urn:wharf:error:sql-rejected', errors: [{ line: 2, detail: 'Connection terminated' }] },
  })
})

test.for(['57P01', '53300', '40001', '55P03', 'XX001'])(
  '%s while an import builds is a refusal for good',
  async (code) => {
    const slug = `builds-${code.toLowerCase()}`
    await createProject(
      wharf,
      slug,
      `CREATE TABLE item (id int PRIMARY KEY);
     CREATE FUNCTION fine(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN true; END $$;
     ALTER TABLE item ADD CHECK (fine(id));
     INSERT INTO item VALUES (1);
     CREATE OR REPLACE FUNCTION fine(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ ${raising(code)} $$`,
    )
    const answer = await sendArchive(wharf.root, await exportOf(wharf.root, slug))
    expect(answer).toMatchObject({ status: 409, json: { detail: expect.stringContaining(`SQLSTATE ${code}`) } })
    expect(answer.headers).not.toHaveProperty('retry-after')
  },
)

test('what PostgreSQL itself says of damaged data, in a script, refuses the script and is told to the operator', async () => {
  await createProject(
    wharf,
    'reads',
    `CREATE TABLE entry (id int PRIMARY KEY);
     INSERT INTO entry SELECT generate_series(1, 5);
     CREATE FUNCTION found(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
       AS $$ BEGIN RETURN EXISTS (SELECT FROM "reads.live".entry e WHERE e.id = $1); END $$`,
  )
  const script = 'SELECT 1;\nCREATE INDEX ON entry (found(id))'
  const answer = await applyScript(wharf, 'reads', script)
  expect(answer).toMatchObject({ status: 422, json: { errors: [{ line: 2 }] } })
  const errors = wharf
    .log()
    .split('\n')
    .filter((line) => line.includes('data or its disk is damaged'))
  expect(errors.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ level: 50, code: 'SQL_REJECTED' })])
})

test.for([
  ['a table that is not there', 'PERFORM 1 FROM missing', '42P01'],
  ['a field that a row has not', 'NEW.missing := 1', '42703'],
  ['SQL of wrong syntax', `EXECUTE 'selec'`, '42601'],
  ['what the login may not read', 'PERFORM FROM pg_authid', '42501'],
  ['an end of its transaction', 'COMMIT', '2D000'],
] as const)('a trigger that fails by %s refuses the write, in the words of PostgreSQL', async ([, statement, code]) => {
  const slug = `fails-${code.toLowerCase()}`
  await createProject(
    wharf,
    slug,
    `CREATE TABLE item (id int);
     -- Called as if it were one of Wharf's own.
     CREATE FUNCTION "wharf.f"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; RETURN NEW; END $$;
     CREATE TRIGGER t BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION "wharf.f"()`,
  )
  const answer = await wharf.root.post(`/content/${slug}/live/item`, { json: { id: 1 } })
  expect(answer).toMatchObject({
    status: 400,
    json: { code, detail: expect.stringMatching(/^a function of the project fails: /) },
  })
})
