import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/* Functions while a stage is imported into, swapped and written to. */

let wharf: TestWharf
let archive: Buffer

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'notes',
    `CREATE TABLE note (id int PRIMARY KEY, text text);
     INSERT INTO note VALUES (1, 'kept');
     CREATE FUNCTION paused() RETURNS SETOF note STABLE LANGUAGE plpgsql
       AS $$ BEGIN PERFORM ${PAUSE}; RETURN QUERY SELECT * FROM note; END $$;
     CREATE FUNCTION said_to_be_kept() RETURNS SETOF note IMMUTABLE LANGUAGE plpgsql
       AS $$ BEGIN PERFORM ${PAUSE}; RETURN QUERY SELECT * FROM note; END $$;
     CREATE FUNCTION counted_twice() RETURNS bigint[] VOLATILE LANGUAGE plpgsql AS $$ DECLARE first bigint; BEGIN
       SELECT count(*) INTO first FROM note; PERFORM ${PAUSE}; RETURN ARRAY[first, (SELECT count(*) FROM note)]; END $$;
     CREATE FUNCTION add_note(id int, text text) RETURNS note LANGUAGE sql AS 'INSERT INTO note VALUES (id, text) RETURNING *';
     CREATE FUNCTION add_slowly(id int) RETURNS note LANGUAGE plpgsql
       AS $$ BEGIN PERFORM ${PAUSE}; RETURN add_note(id, 'slow'); END $$;`,
  )
  archive = (await wharf.root.post('/export', { json: { projects: [{ slug: 'notes' }] } })).bytes
})
afterAll(() => wharf.close())

const RPC = '/content/notes/live/rpc'
const NOTE = '/content/notes/live/note'
const importNotes = () =>
  wharf.root.post('/import', { headers: { 'content-type': 'application/x-ndjson' }, body: archive })
const referenceNow = async () => (await wharf.root.get(NOTE)).headers['x-service-ref']

test.for(['paused', 'said_to_be_kept'])(
  'a function that a swap comes into begins again, and shows what is there now: %s',
  async (name) => {
    await withPausePoint(wharf, async (pausePoint) => {
      const reading = wharf.root.get(`${RPC}/${name}?select=id`)
      await pausePoint.reached()
      // The rows of the new schema are not in the snapshot of the statement that runs.
      expect((await importNotes()).status).toBe(200)
      await pausePoint.release()
      const answer = await reading
      expect(answer).toMatchObject({ status: 200, json: [{ id: 1 }] })
      if (name === 'said_to_be_kept') expect(answer.headers['x-service-ref']).toBe(await referenceNow())
    })
  },
)

test('all that a function reads is of one moment, whatever it is declared as', async () => {
  await withPausePoint(wharf, async (pausePoint) => {
    const reading = wharf.root.get(`${RPC}/counted_twice`)
    await pausePoint.reached()
    expect((await wharf.root.post(NOTE, { json: { id: 40, text: 'between' } })).status).toBe(201)
    await pausePoint.release()
    expect((await reading).json).toEqual([1, 1])
  })
  expect((await wharf.root.delete(`${NOTE}?id=eq.40`)).status).toBe(204)
})

test('an import waits for a function that writes, and shuts out those that come later', async () => {
  await withPausePoint(wharf, async (pausePoint) => {
    const writing = wharf.root.post(`${RPC}/add_slowly`, { json: { id: 60 } })
    await pausePoint.reached()
    const importing = importNotes()
    const later = async () => (await wharf.root.post(`${RPC}/add_note`, { json: { id: 61, text: 'late' } })).status
    await expect.poll(later, { timeout: 5_000 }).toBe(409)
    expect((await wharf.root.get(`${NOTE}?id=eq.1`)).status).toBe(200)
    await pausePoint.release()
    expect((await writing).status).toBe(200)
    expect((await importing).status).toBe(200)
  })
  expect((await wharf.root.get(`${NOTE}?select=id`)).json).toEqual([{ id: 1 }])
  // What the import replaced is there to go back to, with what the function had written.
  expect((await wharf.root.post('/projects/notes/stages/live/undo?force=true')).status).toBe(200)
  expect((await wharf.root.get(`${NOTE}?id=eq.60`)).json).toEqual([{ id: 60, text: 'slow' }])
})

test('the log has what a function wrote, by the token that called it', async () => {
  await wharf.root.put('/projects/notes/roles/both', { json: { content: { read: true, write: true } } })
  const member = await wharf.member('notes', 'both')
  const before = await referenceNow()
  const answer = await member.post(`${RPC}/add_note`, { json: { id: 70, text: 'logged' } })
  const reference = answer.headers['x-service-ref']
  expect(reference).toBe(await referenceNow())
  expect(reference).not.toBe(before)
  const [event] = await wharf.database.query<Record<string, unknown>>(
    `SELECT kind, table_name, rows::text, token_id IS NOT NULL AS has_token FROM system.event WHERE id = '${reference}'`,
  )
  expect(event).toMatchObject({ kind: 'create', table_name: 'note', has_token: true })
  expect(String(event?.rows)).toContain('logged')
})

test('calls that write at the same time each send the event of their own, and what came last is what the stage has', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      wharf.root.post(`${RPC}/add_note`, { json: { id: 100 + n, text: 'at once' } }),
    ),
  )
  const references = answers.map(({ status, headers }) => (status === 200 ? headers['x-service-ref'] : undefined))
  expect(new Set(references).size).toBe(12)
  expect(references).not.toContain(undefined)
  expect(references).toContain(await referenceNow())
})
