import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { logStages } from '../../src/events/log-stages.ts'
import { readReference } from '../../src/events/reference.ts'
import { createLogger } from '../../src/logger.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { openTransactions } from '../support/database/transactions.ts'
import { eventually } from '../support/eventually.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let made = 0

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(() => wharf.close())

/** A project with a stage that has one table. @returns its slug. */
async function makeShop(script = 'CREATE TABLE item (id int PRIMARY KEY, name text); CREATE TABLE note (what text)') {
  made += 1
  const slug = `shop${made}`
  await createProject(wharf, slug, script)
  return slug
}

async function stageId(slug: string, stage = 'live'): Promise<string> {
  const rows = await wharf.database.query<{ id: string }>(
    `SELECT stage_id AS id FROM system.stage_state WHERE schema_name = $1`,
    [`${slug}.${stage}`],
  )
  return rows[0]?.id ?? ''
}

const reference = async (slug: string, stage?: string): Promise<string> =>
  (await readReference(wharf.container.system, await stageId(slug, stage))).reference

interface LoggedEvent {
  readonly id: string
  readonly kind: string
  readonly table: string | null
  readonly key: readonly string[] | null
  readonly rows: readonly unknown[] | null
  readonly token: string | null
}

/** The log in its order, but for what making the stage has logged. */
async function eventsOf(slug: string, stage?: string): Promise<LoggedEvent[]> {
  const events = await wharf.database.query<LoggedEvent>(
    `SELECT event.id, kind, table_name AS "table", key_columns AS key, array_to_json(rows) AS rows, token_id AS token
     FROM system.transaction JOIN system.event
       ON event.stage_id = transaction.stage_id AND event.transaction_id = transaction.id
     WHERE transaction.stage_id = $1 ORDER BY position, ordinal`,
    [await stageId(slug, stage)],
  )
  return events.filter(({ kind }) => kind !== 'structure')
}

/** What happened to which rows, in short. */
const logged = async (slug: string, stage?: string): Promise<string[]> =>
  (await eventsOf(slug, stage)).map(({ kind, table, rows }) => `${kind} ${table} ${JSON.stringify(rows)}`)

/** Lends a session of the project's own login, as psql has it. */
const asLogin = async <T>(slug: string, use: (client: pg.Client) => Promise<T>): Promise<T> =>
  withSession((await loginUrl(wharf, slug)).href, async (client) => {
    await client.query(`SET search_path = "${slug}.live"`)
    return use(client)
  })

test('a new stage has a reference, and so has another one', async () => {
  await wharf.root.post('/projects', { json: { slug: 'new', stages: ['live', 'draft'] } })
  const references = [await reference('new', 'live'), await reference('new', 'draft')]
  expect(references).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)])
  expect(references[0]).not.toBe(references[1])
})

test('plain SQL of the own login is logged, with the rows as they are after it, or were before they were deleted', async () => {
  const slug = await makeShop()
  await asLogin(slug, async (client) => {
    await client.query(`INSERT INTO item VALUES (1, 'a'), (2, 'b')`)
    await client.query(`UPDATE item SET name = 'c'`)
    await client.query('DELETE FROM item WHERE id = 1')
    await client.query('TRUNCATE item')
  })
  const events = await eventsOf(slug)
  expect(events.map(({ kind, rows }) => [kind, rows])).toEqual([
    [
      'create',
      [
        { id: 1, name: 'a' },
        { id: 2, name: 'b' },
      ],
    ],
    [
      'update',
      [
        { id: 1, name: 'c' },
        { id: 2, name: 'c' },
      ],
    ],
    ['delete', [{ id: 1, name: 'c' }]],
    ['truncate', null],
  ])
  expect(events.map(({ table, key }) => [table, key])).toEqual(Array(4).fill(['item', ['id']]))
  expect(await reference(slug)).toBe(events.at(-1)?.id)
})

test("what Wharf's login writes is logged as well, and rows without a key are", async () => {
  const slug = await makeShop()
  await wharf.database.query(`INSERT INTO "${slug}.live".note VALUES ('x')`)
  expect(await eventsOf(slug)).toMatchObject([{ kind: 'create', table: 'note', key: null, rows: [{ what: 'x' }] }])
})

test('a statement that finds no row is no event', async () => {
  const slug = await makeShop()
  const before = await reference(slug)
  await asLogin(slug, (client) => client.query('UPDATE item SET id = 1; DELETE FROM item'))
  expect(await reference(slug)).toBe(before)
})

test('a statement of very many rows has several events, and loses none of them', async () => {
  const slug = await makeShop()
  await asLogin(slug, (client) => client.query(`INSERT INTO item SELECT n, 'x' FROM generate_series(1, 2500) n`))
  const events = await eventsOf(slug)
  expect(events.map(({ rows }) => rows?.length)).toEqual([1000, 1000, 500])
  expect(events.flatMap(({ rows }) => rows)).toHaveLength(2500)
  expect(await reference(slug)).toBe(events.at(-1)?.id)
})

test('the token that a transaction names is in its events, and in no others', async () => {
  const slug = await makeShop()
  const token = '0191d0a4-7c1e-7b7a-9a54-1f2e3d4c5b6a'
  await asLogin(slug, async (client) => {
    await client.query(`BEGIN; SET LOCAL wharf.token_id = '${token}'; INSERT INTO item VALUES (1); COMMIT`)
    await client.query('INSERT INTO item VALUES (2)')
    await client.query(`BEGIN; SET LOCAL wharf.token_id = 'nonsense'; INSERT INTO item VALUES (3); COMMIT`)
  })
  expect((await eventsOf(slug)).map((event) => event.token)).toEqual([token, null, null])
})

test('the log has the order of commit, and the reference is the event of who committed last', async () => {
  const slug = await makeShop()
  await asLogin(slug, async (first) => {
    await asLogin(slug, async (second) => {
      await first.query(`BEGIN; INSERT INTO item VALUES (1, 'first')`)
      await second.query(`BEGIN; INSERT INTO item VALUES (2, 'second'); COMMIT`)
      const after = await reference(slug)
      expect(after).toBe((await eventsOf(slug)).at(-1)?.id)
      await first.query('COMMIT')
      expect(await reference(slug)).not.toBe(after)
    })
  })
  expect(await logged(slug)).toEqual([
    'create item [{"id":2,"name":"second"}]',
    'create item [{"id":1,"name":"first"}]',
  ])
})

test('writers do not wait for each other before they commit, whatever their isolation', async () => {
  const slug = await makeShop()
  await asLogin(slug, async (first) => {
    await asLogin(slug, async (second) => {
      for (const client of [first, second])
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM item')
      await first.query('INSERT INTO item VALUES (1)')
      await second.query('INSERT INTO item VALUES (2)')
      await second.query('COMMIT')
      await first.query('COMMIT')
    })
  })
  expect(await logged(slug)).toHaveLength(2)
})

test('a transaction that is rolled back moves nothing, nor does a savepoint', async () => {
  const slug = await makeShop()
  const before = await reference(slug)
  await asLogin(slug, async (client) => {
    await client.query('BEGIN; INSERT INTO item VALUES (1); ROLLBACK')
    await client.query('BEGIN; SAVEPOINT s; INSERT INTO item VALUES (2); ROLLBACK TO s; COMMIT')
    expect(await reference(slug)).toBe(before)
    await client.query(
      'BEGIN; INSERT INTO item VALUES (3); SAVEPOINT s; INSERT INTO item VALUES (4); ROLLBACK TO s; COMMIT',
    )
  })
  expect(await logged(slug)).toEqual(['create item [{"id":3,"name":null}]'])
  expect(await reference(slug)).toBe((await eventsOf(slug)).at(-1)?.id)
})

test('constraints that are made immediate leave nothing out', async () => {
  const slug = await makeShop()
  await asLogin(slug, async (client) => {
    await client.query('BEGIN; INSERT INTO item VALUES (1); SET CONSTRAINTS ALL IMMEDIATE')
    await client.query('INSERT INTO item VALUES (2); INSERT INTO item VALUES (3); SET CONSTRAINTS ALL DEFERRED')
    await client.query('INSERT INTO item VALUES (4); COMMIT')
  })
  const events = await eventsOf(slug)
  expect(events.map(({ rows }) => rows)).toEqual([1, 2, 3, 4].map((id) => [{ id, name: null }]))
  expect(await reference(slug)).toBe(events.at(-1)?.id)
  expect(await wharf.database.query('SELECT 1 FROM system.open_transaction')).toEqual([])
})

test('two transactions that write to the same stages in opposite orders both commit', async () => {
  await wharf.root.post('/projects', { json: { slug: 'both', stages: ['live', 'draft'] } })
  for (const stage of ['live', 'draft']) await applyScript(wharf, 'both', 'CREATE TABLE t (n int)', stage)
  const stages = ['live', 'draft']
  const write = (order: readonly string[], n: number) =>
    asLogin('both', async (client) => {
      for (let round = 0; round < 30; round += 1) {
        const inserts = order.map((stage) => `INSERT INTO "both.${stage}".t VALUES (${n})`)
        await client.query(`BEGIN; ${inserts.join('; ')}; COMMIT`)
      }
    })
  await Promise.all([write(stages, 1), write(stages.toReversed(), 2)])
  const [live, draft] = [await logged('both', 'live'), await logged('both', 'draft')]
  expect(live).toHaveLength(60)
  // Both have the same order.
  expect(draft).toEqual(live)
})

test('what is written first within a savepoint is left out as little as what follows', async () => {
  const slug = await makeShop()
  await asLogin(slug, (client) =>
    client.query(`
      BEGIN; SAVEPOINT s; INSERT INTO item VALUES (1); INSERT INTO item VALUES (2); RELEASE s; INSERT INTO item VALUES (3);
      SAVEPOINT s; INSERT INTO item VALUES (4); ROLLBACK TO s; INSERT INTO item VALUES (5); COMMIT`),
  )
  const events = await eventsOf(slug)
  expect(events.map(({ rows }) => rows)).toEqual([1, 2, 3, 5].map((id) => [{ id, name: null }]))
  expect(await reference(slug)).toBe(events.at(-1)?.id)
})

test('a transaction that says what it likes of its own events leaves none of them out', async () => {
  const slug = await makeShop()
  const stage = await stageId(slug)
  await asLogin(slug, async (client) => {
    const set = (value: string): string => `SELECT set_config('wharf.opened', '${value}', true)`
    await client.query('INSERT INTO item VALUES (1)')
    const [{ id } = { id: '' }] = await wharf.database.query<{ id: string }>(
      'SELECT max(transaction_id)::text AS id FROM system.event WHERE stage_id = $1',
      [stage],
    )
    // As if this belonged to the transaction before.
    await client.query(`BEGIN; ${set(`${stage} ${id},`)}; INSERT INTO item VALUES (2); COMMIT`)
    await client.query(`SET wharf.opened = '${stage} ${id},'; INSERT INTO item VALUES (3); RESET wharf.opened`)
    // As if this were the first.
    await client.query(`BEGIN; INSERT INTO item VALUES (4); ${set('')}; INSERT INTO item VALUES (5); COMMIT`)
    await client.query(`BEGIN; INSERT INTO item VALUES (6); RESET wharf.opened; INSERT INTO item VALUES (7); COMMIT`)
    for (const forged of [`${stage} ,`, `${stage}`, `${stage} 1`, ',,,', 'x y,z', `${stage} -1,${stage} 1,`]) {
      await client.query(`BEGIN; ${set(forged)}; INSERT INTO item VALUES (8); DELETE FROM item WHERE id = 8; COMMIT`)
    }
    const tooLong = client.query(`BEGIN; ${set(`${stage} ${'9'.repeat(30)},`)}; INSERT INTO item VALUES (9); COMMIT`)
    await expect(tooLong).rejects.toMatchObject({ code: '22003' })
    await client.query('ROLLBACK')
    const before = await reference(slug)
    // As if what has its place already did not have it yet.
    await client.query(`BEGIN; INSERT INTO item VALUES (10); SELECT set_config('test.opened', current_setting('wharf.opened'), true);
      SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; SELECT set_config('wharf.opened', current_setting('test.opened'), true);
      INSERT INTO item VALUES (11); COMMIT`)
    expect(await reference(slug)).not.toBe(before)
    await client.query('INSERT INTO item VALUES (12)')
  })
  const events = await eventsOf(slug)
  const ids = events.map(({ rows }) => (rows as { id: number }[])[0]?.id)
  expect(ids.filter((id) => id !== 8)).toEqual([1, 2, 3, 4, 5, 6, 7, 10, 11, 12])
  expect(ids.filter((id) => id === 8)).toHaveLength(12)
  expect(await reference(slug)).toBe(events.at(-1)?.id)
})

test('a transaction that says that it has logged one event, where there are more, gets a reference that is new', async () => {
  const slug = await makeShop()
  const stage = await stageId(slug)
  const references = [await reference(slug)]
  await asLogin(slug, async (client) => {
    for (const [first, second] of [
      [1, 2],
      [3, 4],
    ]) {
      await client.query(`BEGIN; INSERT INTO item VALUES (${first}); INSERT INTO item VALUES (${second});
        SELECT set_config('wharf.opened', '${stage} ' || (SELECT substring(current_setting('wharf.opened') FROM ' ([0-9]+),')) || ',1', true);
        COMMIT`)
      references.push(await reference(slug))
    }
  })
  const events = await eventsOf(slug)
  expect(events.map(({ rows }) => rows)).toEqual([1, 2, 3, 4].map((id) => [{ id, name: null }]))
  expect(new Set(references).size).toBe(3)
})

test("operators of the project's own, first in its search_path, are not called by the log", async () => {
  const slug = await makeShop()
  await asLogin(slug, async (client) => {
    const types = ['int2', 'int4', 'int8', 'text', 'oid', 'uuid', 'name', 'bool']
    const operators = ['=', '<>', '<', '>', '<=', '>=', '+', '-', '||', '~']
    for (const [left, right] of types.flatMap((type) => [[type, type], ...(type === 'int8' ? [[type, 'int4']] : [])])) {
      await client.query(`CREATE FUNCTION called(${left}, ${right}) RETURNS boolean LANGUAGE plpgsql AS
        'BEGIN RAISE ''an operator was called by %'', current_user; END'`)
      for (const operator of operators) {
        await client.query(`CREATE OPERATOR ${operator} (LEFTARG = ${left}, RIGHTARG = ${right}, FUNCTION = called)`)
      }
    }
    await client.query(`SET search_path = "${slug}.live", pg_catalog`)
    await client.query('INSERT INTO item VALUES (1)')
    await client.query('INSERT INTO item VALUES (2), (3)')
    await client.query('BEGIN; INSERT INTO item VALUES (4); INSERT INTO note VALUES (5); DELETE FROM note; COMMIT')
    await client.query('TRUNCATE item')
  })
  const events = await eventsOf(slug)
  expect(events.map(({ kind, rows }) => [kind, rows?.length ?? 0])).toEqual([
    ['create', 1],
    ['create', 2],
    ['create', 1],
    ['create', 1],
    ['delete', 1],
    ['truncate', 0],
  ])
})

test("a transaction that names another project's stage as one of its own does not hold it", async () => {
  const [victim, other] = [await makeShop(), await makeShop()]
  const [victimStage, otherStage] = [await stageId(victim), await stageId(other)]
  await asLogin(other, async (client) => {
    await client.query(`BEGIN; INSERT INTO item VALUES (1)`)
    await client.query(`SELECT set_config('wharf.opened', '${victimStage} 1,${otherStage} 1,', true)`)
    await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    await asLogin(victim, (writer) => writer.query(`SET lock_timeout = '5s'; INSERT INTO item VALUES (1)`))
    await client.query('COMMIT')
  })
  expect(await logged(victim)).toHaveLength(1)
  expect(await logged(other)).toHaveLength(1)
})

test('a transaction whose snapshot is older than an import, and that writes after it, fails', async () => {
  const slug = await makeShop()
  const archive = await exportOf(wharf.root, slug)
  await asLogin(slug, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    expect((await sendArchive(wharf.root, archive)).status).toBe(200)
    const writing = client.query('INSERT INTO item VALUES (1); COMMIT')
    await expect(writing).rejects.toMatchObject({ code: '40001' })
    await client.query('ROLLBACK')
  })
})

test('what schema:apply makes, or finds without its triggers, is logged from then on, and moves the reference', async () => {
  const slug = await makeShop()
  const before = await reference(slug)
  await applyScript(
    wharf,
    slug,
    `ALTER TABLE item DISABLE TRIGGER ALL; DROP TRIGGER wharf_create ON note; CREATE TABLE more (n int);
     INSERT INTO item VALUES (1)`,
  )
  const after = await reference(slug)
  expect(after).not.toBe(before)
  await asLogin(slug, (client) =>
    client.query(`INSERT INTO more VALUES (1); INSERT INTO item VALUES (2); INSERT INTO note VALUES ('x')`),
  )
  expect((await eventsOf(slug)).map(({ table }) => table)).toEqual(['more', 'item', 'note'])
})

test('what plain SQL has made is found at the start of the service', async () => {
  const slug = await makeShop()
  await asLogin(slug, (client) => client.query('CREATE TABLE plain (n int); ALTER TABLE item DISABLE TRIGGER USER'))
  await logStages({ ...wharf.container, logger: createLogger('silent') })
  await asLogin(slug, (client) => client.query('INSERT INTO plain VALUES (1); INSERT INTO item VALUES (1)'))
  expect((await eventsOf(slug)).map(({ table }) => table)).toEqual(['plain', 'item'])
})

test('a table may change between two writes of one session', async () => {
  const slug = await makeShop()
  await asLogin(slug, async (client) => {
    await client.query('INSERT INTO item VALUES (1)')
    await client.query('ALTER TABLE item ADD more int DEFAULT 7, DROP name')
    await client.query('INSERT INTO item VALUES (2)')
    await client.query('ALTER TABLE item RENAME id TO number; INSERT INTO item VALUES (3)')
  })
  const events = await eventsOf(slug)
  expect(events.map(({ rows }) => rows)).toEqual([
    [{ id: 1, name: null }],
    [{ id: 2, more: 7 }],
    [{ number: 3, more: 7 }],
  ])
  expect(events.at(-1)?.key).toEqual(['number'])
})

test('columns that a primary key includes are no part of the key that events name', async () => {
  const slug = await makeShop(`CREATE TABLE one (name text, id int, PRIMARY KEY (id) INCLUDE (name));
    CREATE TABLE two (name text, b int, a int, PRIMARY KEY (a, b) INCLUDE (name))`)
  await asLogin(slug, async (client) => {
    for (const write of [
      "INSERT INTO $1 VALUES ('a', 1)",
      "UPDATE $1 SET name = 'b'",
      'DELETE FROM $1',
      'TRUNCATE $1',
    ]) {
      await client.query(write.replace('$1', 'one'))
      await client.query(write.replace('$1', 'two').replace("'a', 1", "'a', 1, 2"))
    }
  })
  const events = await eventsOf(slug)
  expect(events.map(({ kind }) => kind)).toEqual(
    ['create', 'update', 'delete', 'truncate'].flatMap((kind) => [kind, kind]),
  )
  expect(events.map(({ table, key }) => [table, key])).toEqual(
    Array(4)
      .fill([
        ['one', ['id']],
        ['two', ['b', 'a']],
      ])
      .flat(),
  )
  expect(events[2]?.rows).toEqual([{ name: 'b', id: 1 }])
})

test('rows of partitions are logged once, whichever table they are written to', async () => {
  const slug = await makeShop(`CREATE TABLE part (id int PRIMARY KEY) PARTITION BY RANGE (id);
    CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (10)`)
  await asLogin(slug, (client) => client.query('INSERT INTO part VALUES (1); INSERT INTO part_low VALUES (2)'))
  expect(await logged(slug)).toEqual(['create part [{"id":1}]', 'create part_low [{"id":2}]'])
})

test("what a table's own triggers write is logged too", async () => {
  const slug = await makeShop(`CREATE TABLE item (id int); CREATE TABLE audit (id int);
    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NEW; END';
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON item DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit()`)
  await asLogin(slug, (client) => client.query(`SET search_path = "${slug}.live"; INSERT INTO item VALUES (1)`))
  const events = await eventsOf(slug)
  expect(events.map(({ table }) => table)).toEqual(['item', 'audit'])
  expect(await reference(slug)).toBe(events.at(-1)?.id)
})

const FORGERIES: Readonly<Record<string, string>> = {
  'the log itself': `INSERT INTO system.event (stage_id, transaction_id, kind) VALUES ('$STAGE', 1, 'create')`,
  'the place in the log': `INSERT INTO system.transaction (stage_id, id, reference) VALUES ('$STAGE', 1, gen_random_uuid())`,
  'the log of a table of another project': `SELECT wharf.log_rows('"$OTHER.live".item'::regclass, 'INSERT', '{}')`,
  'an event of another project': `SELECT wharf.add_event('$STAGE', 'create', NULL, NULL, NULL, NULL)`,
  'an import of another project': `SELECT wharf.record_import('$STAGE', NULL)`,
  'a trigger that places': `CREATE TABLE x (xid bigint);
    CREATE TRIGGER t AFTER INSERT ON x FOR EACH ROW EXECUTE FUNCTION wharf.place_transaction()`,
  'a trigger that forgets': `CREATE TABLE y (stage_id uuid); INSERT INTO y VALUES ('$STAGE');
    CREATE TRIGGER t AFTER DELETE ON y FOR EACH ROW EXECUTE FUNCTION wharf.forget_log(); DELETE FROM y`,
  'a trigger that creates': `CREATE TABLE z (stage_id uuid);
    CREATE TRIGGER t AFTER INSERT ON z FOR EACH ROW EXECUTE FUNCTION wharf.record_creation(); INSERT INTO z VALUES ('$STAGE')`,
}

test.each(Object.entries(FORGERIES))('the login of a project may not forge: %s', async (_, forgery) => {
  const [own, other] = [await makeShop(), await makeShop()]
  const before = await reference(other)
  const sql = forgery.replaceAll('$STAGE', await stageId(other)).replaceAll('$OTHER', other)
  await expect(asLogin(own, (client) => client.query(sql))).rejects.toThrow(
    /permission denied|may not log|not of this login/,
  )
  expect(await reference(other)).toBe(before)
})

test("a cast to JSON of one's own making runs with nobody else's rights", async () => {
  const slug = await makeShop()
  await applyScript(
    wharf,
    slug,
    `CREATE TYPE mood AS ENUM ('well');
     CREATE FUNCTION spy(mood) RETURNS json LANGUAGE sql AS $$ SELECT to_json(current_user::text) $$;
     CREATE CAST (mood AS json) WITH FUNCTION spy(mood);
     CREATE TABLE moods (m mood)`,
  )
  await asLogin(slug, (client) => client.query(`INSERT INTO moods VALUES ('well')`))
  const [event] = await eventsOf(slug)
  expect(event?.rows).toEqual([{ m: (await loginUrl(wharf, slug)).username }])
})

test('the login reads the reference of its own stages, and of no others', async () => {
  const [own, other] = [await makeShop(), await makeShop()]
  await asLogin(own, async (client) => {
    const read = async (slug: string): Promise<unknown> =>
      (await client.query('SELECT reference FROM wharf.stage_reference($1)', [await stageId(slug)])).rows
    expect(await read(own)).toEqual([{ reference: await reference(own) }])
    expect(await read(other)).toEqual([{ reference: null }])
  })
})

test('an import is one event, also in place, and the tables that it brought are logged', async () => {
  const slug = await makeShop()
  await asLogin(slug, (client) => client.query(`INSERT INTO item SELECT n, 'x' FROM generate_series(1, 100) n`))
  const archive = await exportOf(wharf.root, slug)
  for (const view of [false, true]) {
    if (view) await applyScript(wharf, slug, 'CREATE VIEW v AS SELECT * FROM item')
    const before = (await eventsOf(slug)).length
    expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    const events = await eventsOf(slug)
    expect(events.slice(before).map(({ kind }) => kind)).toEqual(['import'])
    expect(await reference(slug)).toBe(events.at(-1)?.id)
    await asLogin(slug, (client) => client.query(`UPDATE item SET name = 'y' WHERE id = 1`))
    expect((await eventsOf(slug)).at(-1)).toMatchObject({ kind: 'update', rows: [{ id: 1, name: 'y' }] })
  }
})

test('an undo moves the reference to an event of its own', async () => {
  const slug = await makeShop()
  expect(await sendArchive(wharf.root, await exportOf(wharf.root, slug))).toMatchObject({ status: 200 })
  const before = await reference(slug)
  expect(await wharf.root.post(`/projects/${slug}/stages/live/undo`)).toMatchObject({ status: 200 })
  expect(await reference(slug)).not.toBe(before)
  await asLogin(slug, (client) => client.query('INSERT INTO item VALUES (1)'))
  expect((await eventsOf(slug)).at(-1)).toMatchObject({ kind: 'create' })
})

test('a log that goes into another project is the same there, whatever it holds', async () => {
  const [source, target] = [await makeShop(), await makeShop()]
  await asLogin(source, (client) =>
    client.query(
      `INSERT INTO item VALUES (1, E'"a\\\\b"\\n{}\\t,é'), (2, NULL); UPDATE item SET name = '' WHERE id = 2`,
    ),
  )
  const archive = await exportOf(wharf.root, source, { system: true })
  expect(await sendArchive(wharf.root, archive, { query: `?targetSlug=${target}` })).toMatchObject({ status: 200 })
  const [brought, own] = [await eventsOf(target), await eventsOf(source)]
  expect(brought.slice(0, -1)).toEqual(own)
  expect(brought.at(-1)).toMatchObject({ kind: 'import' })
  expect(await reference(target)).toBe(brought.at(-1)?.id)
})

test('a stage that is deleted takes its log with it', async () => {
  const slug = await makeShop()
  const id = await stageId(slug)
  await wharf.root.delete(`/projects/${slug}/stages/live`)
  for (const table of ['event', 'transaction']) {
    expect(await wharf.database.query(`SELECT 1 FROM system.${table} WHERE stage_id = $1`, [id])).toEqual([])
  }
})

test('nobody who writes waits at the end for longer than another commits', async () => {
  const slug = await makeShop()
  await asLogin(slug, async (first) => {
    // Its place is drawn, and not yet committed.
    await first.query('BEGIN; INSERT INTO item VALUES (1); SET CONSTRAINTS ALL IMMEDIATE')
    const second = asLogin(slug, (client) => client.query('INSERT INTO item VALUES (2)'))
    await eventually(async () => (await openTransactions(wharf)).filter(({ waits }) => waits === 'Lock').length).toBe(1)
    await first.query('COMMIT')
    await second
  })
  expect(await logged(slug)).toEqual(['create item [{"id":1,"name":null}]', 'create item [{"id":2,"name":null}]'])
})
