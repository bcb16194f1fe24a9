import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, contentsOf, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** As in pagila: payments by month, with foreign keys to and from them. */
const STRUCTURE = `
  CREATE TABLE customer (id integer PRIMARY KEY, name text);
  CREATE TABLE payment (id integer NOT NULL, customer_id integer NOT NULL REFERENCES customer, amount numeric(5, 2),
    paid_at date NOT NULL, PRIMARY KEY (paid_at, id)) PARTITION BY RANGE (paid_at);
  CREATE TABLE payment_1 PARTITION OF payment FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
  CREATE TABLE payment_2 PARTITION OF payment FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY LIST (id);
  CREATE TABLE payment_2_all PARTITION OF payment_2 DEFAULT;
  CREATE TABLE refund (id integer PRIMARY KEY, paid_at date, payment_id integer,
    CONSTRAINT "of a payment" FOREIGN KEY (paid_at, payment_id) REFERENCES payment);
  CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
  CREATE TRIGGER passes BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION pass();
  ALTER TABLE payment_1 DISABLE TRIGGER passes;
  ALTER TABLE payment_2_all ENABLE ALWAYS TRIGGER passes;`

const ROWS = `
  INSERT INTO customer VALUES (1, 'Ada'), (2, 'Grace');
  INSERT INTO payment SELECT n, n % 2 + 1, n, '2026-01-01'::date + n FROM generate_series(1, 50) n;
  INSERT INTO refund VALUES (1, '2026-01-11', 10);`

let wharf: TestWharf
let archive: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', STRUCTURE + ROWS)
  archive = await exportOf(wharf.root, 'shop')
})

afterAll(() => wharf.close())

const count = async (schema: string, table: string): Promise<number> => {
  const [row] = await wharf.database.query<{ n: number }>(`SELECT count(*)::int AS n FROM "${schema}".${table}`)
  return row?.n ?? 0
}

const linesLike = (text: string, pattern: RegExp): string[] => text.split('\n').filter((line) => pattern.test(line))

test('the rows of a partitioned table stand under its partitions, and nothing is left out', () => {
  expect(linesLike(archive, /^\{"stage":/)[0]).not.toContain('"kind"')
  expect(linesLike(archive, /^\{"rows":/).map((line) => JSON.parse(line).rows.table)).toEqual([
    'customer',
    'payment_1',
    'payment_2_all',
    'refund',
  ])
  expect(linesLike(archive, /^\{"row":/)).toHaveLength(53)
})

test('a stage with partitions is replaced beside, and an undo gives back what it had', async () => {
  await createProject(
    wharf,
    'copy',
    `${STRUCTURE} INSERT INTO customer VALUES (9, 'Old');
    INSERT INTO payment VALUES (9, 9, 9, '2026-02-09')`,
  )
  const before = await contentsOf(wharf, 'copy')
  const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=copy' })
  expect(answer.json).toMatchObject({ projects: [{ stages: [{ tables: 4, rows: 53, undoable: true }] }] })
  expect(await contentsOf(wharf, 'copy')).toEqual(comparableLines(archive))
  expect(await count('copy.live', 'payment')).toBe(50)

  expect(await wharf.root.post('/projects/copy/stages/live/undo')).toMatchObject({ status: 200 })
  expect(await contentsOf(wharf, 'copy')).toEqual(before)
})

test('a stage with partitions that can only be loaded in place is, with its foreign keys', async () => {
  await createProject(
    wharf,
    'tuned',
    `${STRUCTURE} CREATE CONVERSION odd FOR 'UTF8' TO 'LATIN1' FROM utf8_to_iso8859_1`,
  )
  const structure = (await contentsOf(wharf, 'tuned')).filter((line) => line.startsWith('{"table":'))
  for (const _ of [1, 2]) {
    const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=tuned' })
    expect(answer.json).toMatchObject({ projects: [{ stages: [{ rows: 53, undoable: false }] }] })
    expect((await contentsOf(wharf, 'tuned')).filter((line) => line.startsWith('{"table":'))).toEqual(structure)
    expect(await count('tuned.live', 'payment')).toBe(50)
  }
})

test('a row that is not of its partition is refused', async () => {
  await createProject(wharf, 'fresh')
  const moved = archive.replace(/\{"row":\[1, ?2, ?"1.00", ?"2026-01-02"\]\}/, '{"row":[1, 2, "1.00", "2027-01-02"]}')
  expect(moved).not.toBe(archive)
  const answer = await sendArchive(wharf.root, moved, { query: '?targetSlug=fresh&allowEdited=true' })
  expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('payment_1') })
})

test('a bound that is another is named as a difference', async () => {
  const other = archive.replace(`TO ('2026-02-01')`, `TO ('2026-01-31')`)
  const answer = await sendArchive(wharf.root, other, { query: '?dryRun=true' })
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('table \\"payment_1\\": bound is') })
})

test('what is written through the partitioned table is logged once, as its', async () => {
  await createProject(wharf, 'logged', STRUCTURE + ROWS)
  const stage = await wharf.database.query<{ id: string }>(
    `SELECT stage_id::text AS id FROM system.stage_state WHERE schema_name = 'logged.live'`,
  )
  const events = () =>
    wharf.database.query(
      `SELECT kind, table_name AS "table", key_columns AS key, cardinality(rows) AS rows FROM system.event
       WHERE stage_id = $1::uuid AND kind <> 'structure' ORDER BY ordinal`,
      [stage[0]?.id],
    )
  await wharf.database.query('DELETE FROM system.event WHERE stage_id = $1::uuid AND kind <> $2', [
    stage[0]?.id,
    'structure',
  ])
  const url = '/content/logged/live/payment'
  const created = await wharf.root.post(url, { json: { id: 60, customer_id: 1, amount: 6, paid_at: '2026-01-30' } })
  expect(created.status).toBe(201)
  // Into another partition.
  expect((await wharf.root.patch(`${url}?id=eq.60`, { json: { paid_at: '2026-02-28' } })).status).toBe(204)
  const read = await wharf.root.get(`${url}?id=eq.60&select=paid_at,customer(name)`)
  expect(read.json).toEqual([{ paid_at: '2026-02-28', customer: { name: 'Ada' } }])
  expect((await wharf.root.delete(`${url}?id=eq.60`)).status).toBe(204)
  const key = ['id', 'paid_at']
  expect(await events()).toEqual([
    { kind: 'create', table: 'payment', key, rows: 1 },
    { kind: 'update', table: 'payment', key, rows: 1 },
    { kind: 'delete', table: 'payment', key, rows: 1 },
  ])
})

test('a partitioned table is excluded with its partitions, a partition alone', async () => {
  const without = await exportOf(wharf.root, 'shop', { excludeTables: ['payment'] })
  expect(linesLike(without, /^\{"table":/).map((line) => JSON.parse(line).table.name)).toEqual(['customer', 'refund'])
  expect(without).toContain('refers to the excluded table payment')
  const smaller = await exportOf(wharf.root, 'shop', { excludeTables: ['payment_1', 'refund'] })
  expect(linesLike(smaller, /^\{"rows":/).map((line) => JSON.parse(line).rows.table)).toEqual([
    'customer',
    'payment_2_all',
  ])
  const [trigger = ''] = linesLike(smaller, /^\{"trigger":/)
  expect(JSON.parse(trigger).trigger.partitions).toEqual([{ table: 'payment_2_all', enabled: 'always' }])
  await createProject(wharf, 'smaller')
  expect(await sendArchive(wharf.root, smaller, { query: '?targetSlug=smaller' })).toMatchObject({ status: 200 })
  expect(await count('smaller.live', 'payment')).toBe(20)
})
