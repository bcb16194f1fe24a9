import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { eventually } from '../../support/eventually.ts'
import type { ApiAnswer } from '../../support/http/api-client.ts'
import { openSession, query } from '../../support/servers/sessions.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/** What others do to attached stages while an import into them runs. */
const SHOP = `
  CREATE TYPE size AS ENUM ('small', 'large');
  CREATE SEQUENCE ticket;
  CREATE TABLE item (id int PRIMARY KEY, size size);
  INSERT INTO item SELECT n, 'small' FROM generate_series(1, 20) n;
  CREATE MATERIALIZED VIEW total AS SELECT count(*) FROM item;
  CREATE VIEW biggest AS SELECT c.relname, total.count FROM pg_catalog.pg_class c, total WHERE c.relname = 'item';
  CREATE VIEW over_biggest AS SELECT relname FROM biggest;
  CREATE TEXT SEARCH CONFIGURATION words (COPY = pg_catalog.simple);
  CREATE SCHEMA own;
  CREATE TYPE own.colour AS ENUM ('red');
  CREATE TABLE own.note (id int PRIMARY KEY, colour own.colour);
  INSERT INTO own.note VALUES (1, 'red')`

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(SHOP)
  await query(external.database.superuserUrl, 'CREATE EXTENSION ltree; CREATE TABLE own_rows (id int)')
  await query(external.database.superuserUrl, 'ALTER EXTENSION ltree ADD TABLE own_rows')
  wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
  const stages = [
    { slug: 'live', schema: 'public' },
    { slug: 'notes', schema: 'own' },
  ]
  const json = { slug: 'shop', attach: { address: external.owner.href, stages } }
  const made = await wharf.root.post('/projects', { json })
  expect(made.status, made.text).toBe(201)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const asOwner = <Row extends object>(sql: string): Promise<Row[]> => query(external.owner.href, sql) as Promise<Row[]>

const countLoading = async (): Promise<number> =>
  (await asOwner(`SELECT FROM pg_namespace WHERE nspname LIKE 'wharf_new_%'`)).length

/**
 * Imports what a stage had, while another session holds one of its tables until it has begun to load.
 *
 * @param does `meanwhile`: what a session does and commits; `pending`: what it begins, and commits once the import has
 *   answered, or, where it holds what the import waits for, a moment after it has begun to; or that `endsItself`.
 */
async function importDuring(
  stage: 'live' | 'notes',
  does: {
    readonly meanwhile?: string
    readonly pending?: string
    readonly isWaitedFor?: boolean
    readonly endsItself?: boolean
  },
): Promise<ApiAnswer> {
  const archive = await exportOf(wharf.root, 'shop', { stages: [stage] })
  const [reader, session] = await Promise.all([openSession(external.owner.href), openSession(external.owner.href)])
  try {
    await reader.query(`BEGIN; SELECT FROM ${stage === 'live' ? 'public.item' : 'own.note'}`)
    const importing = sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
    await eventually(countLoading).toBe(1)
    await eventually(() =>
      asOwner(`SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted`),
    ).not.toEqual([])
    if (does.meanwhile) await session.query(does.meanwhile)
    const begun = does.pending ? session.query(does.endsItself ? does.pending : `BEGIN; ${does.pending}`) : undefined
    if (!does.endsItself) await begun
    await reader.query('COMMIT')
    if (does.isWaitedFor) {
      await eventually(() =>
        asOwner(`SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted`),
      ).not.toEqual([])
      await session.query('COMMIT')
    }
    const answer = await importing
    await begun
    await session.query('COMMIT')
    return answer
  } finally {
    await Promise.all([reader.end(), session.end()])
    await eventually(countLoading).toBe(0)
  }
}

test('views over catalogs, and what belongs to extensions, are in the way of no import', async () => {
  const archive = await exportOf(wharf.root, 'shop', { stages: ['live'] })
  const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
  expect(answer.status, answer.text).toBe(200)
  expect(answer.json).toMatchObject({ projects: [{ stages: [{ undoable: true }] }] })
  expect(comparableLines(await exportOf(wharf.root, 'shop', { stages: ['live'] }))).toEqual(comparableLines(archive))
})

test.each([
  `ALTER TYPE public.size ADD VALUE 'middle'`,
  'ALTER SEQUENCE public.ticket INCREMENT 7',
  `COMMENT ON COLUMN public.item.size IS 'how large it is'`,
  'ALTER TEXT SEARCH CONFIGURATION public.words ALTER MAPPING FOR word WITH english_stem',
])('%s while an import runs is not lost with what it would replace', async (meanwhile) => {
  const answer = await importDuring('live', { meanwhile })
  expect(answer, answer.text).toMatchObject({
    status: 409,
    json: { detail: expect.stringMatching(/structure of "public" was changed/) },
  })
})

test.each(['CREATE TABLE own.fresh (colour own.colour)', `ALTER TYPE own.colour ADD VALUE 'blue'`])(
  '%s in a transaction that has not ended keeps an import from replacing the schema',
  async (pending) => {
    const answer = await importDuring('notes', { pending })
    expect(answer, answer.text).toMatchObject({
      status: 409,
      json: { detail: expect.stringMatching(/being made in "own"/) },
    })
  },
)

test.each([
  [
    'and has not ended',
    `SELECT FROM pg_locks WHERE objid = 72`,
    `SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted`,
  ],
  ['and has ended', `SELECT FROM pg_type WHERE typname = 'color'`, 'SELECT'],
])(
  'a type that somebody renames just when it is moved %s has an import refused, to be tried again',
  async (_, isRenamed, isToEnd) => {
    const { superuserUrl } = external.database
    const until = (found: string) => `WHILE clock_timestamp() < begun + '30 s' AND NOT EXISTS (${found})
    LOOP PERFORM pg_sleep(0.001); END LOOP;`
    const block = (body: string) => `DECLARE begun timestamptz := clock_timestamp(); BEGIN ${body} END`
    // The import says that it is about to move the type, and waits until it was renamed.
    await query(
      superuserUrl,
      `CREATE SCHEMA watch; GRANT USAGE ON SCHEMA watch TO PUBLIC;
    CREATE FUNCTION watch.moving() RETURNS event_trigger LANGUAGE plpgsql AS $$ ${block(
      `IF current_query() LIKE 'ALTER SCHEMA%' THEN PERFORM pg_advisory_xact_lock(71); ${until(isRenamed)} END IF;`,
    )} $$;
    CREATE EVENT TRIGGER moving ON ddl_command_start WHEN TAG IN ('ALTER TYPE') EXECUTE FUNCTION watch.moving()`,
    )
    const pending = `DO $$ ${block(`${until('SELECT FROM pg_locks WHERE objid = 71')} ALTER TYPE own.colour RENAME TO color;
    PERFORM pg_advisory_xact_lock(72); ${until(isToEnd)}`)} $$`
    try {
      const answer = await importDuring('notes', { pending, endsItself: true })
      expect(answer, answer.text).toMatchObject({
        status: 409,
        json: { detail: expect.stringMatching(/structure of "own" was changed/) },
      })
    } finally {
      await query(
        superuserUrl,
        'DROP EVENT TRIGGER moving; DROP SCHEMA watch CASCADE; ALTER TYPE own.color RENAME TO colour',
      )
    }
  },
)

test.each(['SELECT FROM public.total', `SELECT nextval('public.ticket')`])(
  'an import waits for who has said %s, as for those who read a table',
  async (pending) => {
    const answer = await importDuring('live', { pending, isWaitedFor: true })
    expect(answer.status, answer.text).toBe(200)
  },
)

const importNotes = async (): Promise<void> => {
  const archive = await exportOf(wharf.root, 'shop', { stages: ['notes'] })
  const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
  expect(answer.status, answer.text).toBe(200)
}

const notes = (): Promise<{ id: number }[]> => asOwner('SELECT id FROM own.note ORDER BY id')

const NOTES = '/projects/shop/stages/notes/undo'

/** The schemas that keep notes, the last one last. */
const keptNotes = async (): Promise<readonly string[]> => {
  const found = await asOwner<{ name: string }>(
    `SELECT nspname::text AS name FROM pg_namespace n JOIN pg_class c ON relnamespace = n.oid AND relname = 'note'
      WHERE nspname LIKE 'wharf_old_%' ORDER BY c.oid`,
  )
  return found.map(({ name }) => name)
}

test('an undo that still counts when an import ends does not bring back what the import before it replaced', async () => {
  await importNotes()
  const [kept] = await keptNotes()
  const locking = await openSession(external.owner.href)
  try {
    await locking.query(`BEGIN; LOCK TABLE ${kept}.note`)
    const undone = wharf.root.post(`${NOTES}?force=true`)
    await eventually(() =>
      asOwner(`SELECT FROM pg_locks WHERE relation = '${kept}.note'::regclass AND NOT granted`),
    ).not.toEqual([])
    await asOwner(`INSERT INTO own.note VALUES (2, 'red')`)
    await importNotes()
    await locking.query('COMMIT')
    expect(await undone).toMatchObject({ status: 409, json: { detail: expect.stringMatching(/in the meantime/) } })
  } finally {
    await locking.end()
  }
  await asOwner('DELETE FROM own.note')
  expect(await wharf.root.post(`${NOTES}?force=true`)).toMatchObject({ status: 200 })
  expect(await notes()).toEqual([{ id: 1 }, { id: 2 }])
})

/** Imports, and forgets what became of it, as where the process dies when the other database has committed. */
async function importUnrecorded(): Promise<void> {
  await importNotes()
  const [committed] = await asOwner<{ id: string; kept: string }>(
    `SELECT id::text AS id, import->'stages'->0->>'kept' AS kept FROM wharf_imports.committed ORDER BY committed_at DESC LIMIT 1`,
  )
  await wharf.database.query(
    `UPDATE system.side_schema SET schema_name = 'import ' || $1::text, kind = 'committing', replaced_by = NULL, expires_at = NULL
      WHERE schema_name = $2`,
    [committed?.id, committed?.kept],
  )
}

test('an undo knows of an import whose process died in the middle of the commit', async () => {
  await importUnrecorded()
  await asOwner(`INSERT INTO own.note VALUES (3, 'red')`)
  expect(await wharf.root.post(`${NOTES}?force=true`)).toMatchObject({ status: 200 })
  expect(await notes()).toEqual([{ id: 1 }, { id: 2 }])
})

test('what such an import keeps can be dropped at once', async () => {
  await importUnrecorded()
  expect(await wharf.root.delete(NOTES)).toMatchObject({ status: 204 })
  await eventually(keptNotes).toEqual([])
})
