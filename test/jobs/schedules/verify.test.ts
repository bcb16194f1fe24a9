import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { readArchive } from '../../../src/archive/read-archive.ts'
import type { FinishedArtifact } from '../../../src/artifacts/artifact-store.ts'
import { copyText } from '../../../src/copy/copy-encoders.ts'
import { isAppError } from '../../../src/errors.ts'
import { createScratchProject, sweepScratchProjects } from '../../../src/workers/scratch-projects.ts'
import { verifyArtifact } from '../../../src/workers/verify-artifact.ts'
import { compareContents, readContents } from '../../../src/workers/verify-contents.ts'
import { streamOf } from '../../support/archives/archive-sample.ts'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { PAUSE, withPausePoint } from '../../support/database/pause-point.ts'
import { eventually } from '../../support/eventually.ts'
import { jobOf, showJob, untilStatus } from '../../support/jobs/jobs.ts'
import {
  makeSchedule,
  restoreTraces,
  runWhenDue,
  type SeenSchedule,
  untilSettled,
} from '../../support/jobs/schedules.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

const SHOP = `
  CREATE TYPE size AS ENUM ('s', 'm', 'l');
  CREATE DOMAIN price AS numeric(10, 2) CHECK (VALUE >= 0);
  CREATE TABLE kind (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
  CREATE TABLE item (id serial PRIMARY KEY, kind_id integer NOT NULL REFERENCES kind, size size, price price, tags text[]);
  CREATE INDEX ON item (price);
  INSERT INTO kind (name) VALUES ('shirts'), ('hats');
  INSERT INTO item (kind_id, size, price, tags)
    SELECT 1 + n % 2, 'm', n * 1.5, ARRAY['n' || n, NULL] FROM generate_series(1, 3000) AS n;
  CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql RETURN n * 2;
  CREATE FUNCTION twice(t text) RETURNS text LANGUAGE sql RETURN t || t;
  CREATE VIEW hats AS SELECT id, twice(id), price FROM item WHERE kind_id = 2;
  CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
  CREATE TRIGGER stop BEFORE DELETE ON kind FOR EACH ROW EXECUTE FUNCTION stop();`

/** What was true of its row when it came in is true no more when it comes in again. */
const NOT_RESTORABLE = `
  CREATE TABLE offer (id integer PRIMARY KEY, until timestamptz CHECK (until > now()));
  INSERT INTO offer VALUES (1, now() + interval '1 millisecond');`

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  await createProject(wharf, 'shop', SHOP)
  await createProject(wharf, 'odd', 'CREATE TABLE item (id integer PRIMARY KEY); GRANT SELECT ON item TO PUBLIC')
})
afterAll(() => wharf?.close())

const traces = (): Promise<unknown> => restoreTraces(wharf)

test('an archive that can be restored is proven, and nothing is left of the restore', async () => {
  const before = await traces()
  expect(before).toMatchObject({ projects: { length: 2 }, logins: { length: 3 } })
  const schedule = await makeSchedule(wharf.root, 'shop', {
    verify: true,
    request: {
      projects: [
        { slug: 'shop', system: true },
        { slug: 'odd', grants: true },
      ],
    },
  })
  const ran = await runWhenDue(wharf, schedule)
  expect(ran.lastRun, JSON.stringify(ran.lastRun)).toMatchObject({
    status: 'succeeded',
    provenAt: expect.any(String),
  })
  expect(await traces()).toEqual(before)
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('the job of a run says that its archive is proven once it has ended, whenever the run is settled', async () => {
  const schedule = await makeSchedule(wharf.root, 'odd', { verify: true })
  const { id } = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
  await untilStatus(wharf.root, id, 'succeeded')
  await wharf.database.query('UPDATE control.schedule_run SET proven_at = NULL, outcome = NULL WHERE job_id = $1', [id])
  expect(await showJob(wharf.root, id)).toMatchObject({ provenAt: expect.any(String) })
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('an archive is proven though PostgreSQL prints what was restored in other words', async () => {
  await createProject(
    wharf,
    'words',
    `CREATE TABLE item (id int PRIMARY KEY, state varchar(9) CHECK (state IN ('new', 'old')));
     CREATE VIEW young AS SELECT * FROM item WHERE state IN ('new', 'newer');
     CREATE FUNCTION count_young() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM item WHERE state IN ('new', 'newer'); END`,
  )
  const schedule = await makeSchedule(wharf.root, 'words', { verify: true })
  const { lastRun } = await runWhenDue(wharf, schedule)
  expect(lastRun, JSON.stringify(lastRun)).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('an archive that cannot be restored fails its run, is not kept, and leaves those before it alone', async () => {
  const schedule = await makeSchedule(wharf.root, 'odd', { verify: true, keep: { last: 1 } })
  const good = await runWhenDue(wharf, schedule)
  expect((await applyScript(wharf, 'odd', NOT_RESTORABLE)).status).toBe(200)
  const before = await traces()
  const bad = await runWhenDue(wharf, schedule)
  expect(bad).toMatchObject({
    lastRun: { status: 'failed', error: { code: 'PROOF_FAILED', detail: expect.stringContaining('not proven') } },
    lastSuccess: { jobId: good.lastRun?.jobId },
    lastProven: { jobId: good.lastRun?.jobId },
  })
  expect(await traces()).toEqual(before)
  const { text } = await wharf.root.get('/metrics')
  expect(text).toContain(`wharf_schedule_last_run_failed{schedule="${schedule.id}"} 1`)
  expect(text).toMatch(new RegExp(`wharf_schedule_last_proven_timestamp_seconds{schedule="${schedule.id}"} [1-9]`))
  expect((await wharf.root.get(`/jobs/${bad.lastRun?.jobId}/file`)).status).toBe(409)
  expect((await wharf.root.get(`/jobs/${good.lastRun?.jobId}/file`)).status).toBe(200)
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

/** An archive of the shop in the store, and how to prove it. */
async function storeArchive() {
  const { bytes } = await wharf.root.post('/export', {
    json: { projects: [{ slug: 'shop' }] },
    headers: { 'accept-encoding': 'gzip' },
  })
  const key = randomUUID()
  const write = async (contents: Uint8Array): Promise<FinishedArtifact> => {
    const writer = await wharf.container.artifacts.create(key)
    await writer.write(contents)
    return writer.commit()
  }
  const finished = await write(bytes)
  const prove = async (): Promise<void> => {
    const job = { id: randomUUID(), attempt: 1, sessionName: 'wharf test', signal: new AbortController().signal }
    await verifyArtifact(wharf.container, { key, finished }, job)
  }
  return { bytes, key, write, prove }
}

const changed = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

test('an archive whose bytes were changed where it is kept is found out, whichever byte it was', async () => {
  const { bytes, write, prove } = await storeArchive()
  await prove()
  const before = await traces()
  // Byte 4 is the time in a gzip header, which none of gzip's own sums covers.
  const damaged = [4, 100, bytes.length >> 1, bytes.length - 2].map((at) => changed(bytes, at))
  for (const contents of [...damaged, bytes.subarray(0, -100), bytes.subarray(0, 0)]) {
    await write(contents)
    await expect(prove(), `${contents.length} bytes`).rejects.toSatisfy((error) => isAppError(error, 'PROOF_FAILED'))
  }
  expect(await traces()).toEqual(before)
})

test('an archive that is gone from its store is not proven', async () => {
  const { key, prove } = await storeArchive()
  await wharf.container.artifacts.remove(key)
  await expect(prove()).rejects.toSatisfy((error) => isAppError(error, 'PROOF_FAILED'))
})

/** What of the archive of a run was not the same after its restore, by the error of its job. */
async function faultsOf({ lastRun }: SeenSchedule): Promise<unknown> {
  const { error } = await showJob(wharf.root, lastRun?.jobId ?? '')
  return z
    .object({ errors: z.array(z.object({ detail: z.string() })) })
    .parse(error)
    .errors.map(({ detail }) => detail)
}

const EVENTS_DIFFER =
  /^the events of stage "live" of project "logged" are not the same: (the archive has \d+, and \d+ came back|all \d+ came back, but not with the same values)$/

/** A project with as many events in its log, and others before and after them. */
async function createLogged(slug: string, events: number): Promise<void> {
  await createProject(wharf, slug, 'CREATE TABLE item (id int PRIMARY KEY, name text);')
  const script = `DO $$ BEGIN
    FOR n IN 1..${events} LOOP INSERT INTO item VALUES (n, 'é ' || n); END LOOP;
  END $$;`
  expect((await applyScript(wharf, slug, script)).status).toBe(200)
  expect((await wharf.root.post(`/content/${slug}/live/item`, { json: { id: 0 } })).status).toBe(201)
}

test('a log of 1,200 events is compared with what was restored, event by event', async () => {
  await createLogged('logged', 1_200)
  await createProject(wharf, 'beside', 'CREATE TABLE item (id int PRIMARY KEY)')
  const request = {
    projects: [
      { slug: 'logged', system: true },
      { slug: 'beside', system: true },
    ],
  }
  const schedule = await makeSchedule(wharf.root, 'logged', { verify: true, request })
  const proven = await runWhenDue(wharf, schedule)
  expect(proven.lastRun, JSON.stringify(proven.lastRun)).toMatchObject({ provenAt: expect.any(String) })

  const changes = ['RETURN NULL', 'NEW.id := gen_random_uuid(); RETURN NEW', "NEW.rows := '{}'; RETURN NEW"]
  for (const change of isThorough ? changes : changes.slice(-1)) {
    await wharf.database.query(`
      CREATE OR REPLACE FUNCTION wharf.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${change}; END $$;
      CREATE OR REPLACE TRIGGER lose BEFORE INSERT ON system.loading_event FOR EACH ROW
        WHEN (NEW.position = 1121) EXECUTE FUNCTION wharf.lose()`)
    const ran = await runWhenDue(wharf, schedule)
    expect(ran.lastRun, change).toMatchObject({ status: 'failed', error: { code: 'PROOF_FAILED' } })
    expect(await faultsOf(ran)).toEqual([expect.stringMatching(EVENTS_DIFFER)])
  }
  await wharf.database.query('DROP FUNCTION wharf.lose CASCADE')
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('a stage whose last event is an import, and roles, are proven too', async () => {
  await createProject(wharf, 'imported', 'CREATE TABLE item (id int PRIMARY KEY)')
  await wharf.root.put('/projects/imported/roles/clerk', { json: { content: { read: true } } })
  const archive = await exportOf(wharf.root, 'imported', { system: true })
  expect((await sendArchive(wharf.root, archive)).status).toBe(200)
  const request = { projects: [{ slug: 'imported', system: true }] }
  const schedule = await makeSchedule(wharf.root, 'imported', { verify: true, request })
  const proven = await runWhenDue(wharf, schedule)
  expect(proven.lastRun, JSON.stringify(proven.lastRun)).toMatchObject({ provenAt: expect.any(String) })

  await wharf.database.query(`
    CREATE FUNCTION control.lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.content_read := false; RETURN NEW; END';
    CREATE TRIGGER lose BEFORE INSERT ON control.role FOR EACH ROW WHEN (NEW.name = 'clerk') EXECUTE FUNCTION control.lose()`)
  const ran = await runWhenDue(wharf, schedule)
  await wharf.database.query('DROP FUNCTION control.lose CASCADE')
  expect(ran.lastRun).toMatchObject({ status: 'failed', error: { code: 'PROOF_FAILED' } })
  expect(await faultsOf(ran)).toEqual(['role "clerk" of project "imported" is not the same'])
  await wharf.root.delete(`/schedules/${schedule.id}`)
})

test('an archive with a line that is longer than usual is proven under the limits that are configured', async () => {
  const roomy = await startWharf({
    worker: true,
    environment: { WHARF_MAX_STRUCTURE_LINE_BYTES: String(32 * 1024 * 1024) },
  })
  onTestFinished(() => roomy.close())
  const comment = `DO $$ BEGIN EXECUTE format('COMMENT ON SEQUENCE counter IS %L', repeat('x', 9 * 1024 * 1024)); END $$;`
  await createProject(roomy, 'shop', `CREATE TABLE item (id int PRIMARY KEY); CREATE SEQUENCE counter; ${comment}`)
  const schedule = await makeSchedule(roomy.root, 'shop', { verify: true })
  const { lastRun } = await runWhenDue(roomy, schedule)
  expect(lastRun, JSON.stringify(lastRun)).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
})

test('what is not the same after a restore is reported by its name', async () => {
  const original = new Map([
    ['table "a"', '{}'],
    ['the rows of table "a"', '{"rows":2,"sha256":"x"}'],
    ['table "b"', '{}'],
  ])
  const restored = new Map([
    ['table "a"', '{}'],
    ['the rows of table "a"', '{"rows":1,"sha256":"y"}'],
    ['table "c"', '{}'],
  ])
  expect(await compareContents(original, original)).toEqual([])
  expect((await compareContents(original, restored)).map(({ detail }) => detail)).toEqual([
    'the rows of table "a" are not the same',
    'table "b" was not restored',
    'table "c" was added',
  ])
})

test.each([
  ['function "twice"(t text)', '{"function":{"name":"twice","arguments":"t text"'],
  ['view "hats"', '{"view":{"name":"hats"'],
  ['trigger "stop" of table "kind"', '{"trigger":{"name":"stop","table":"kind"'],
])('a restore without the %s is seen', async (name, beginning) => {
  const archive = await exportOf(wharf.root, 'shop')
  const contentsOf = (lines: readonly string[]) => {
    return readContents(readArchive(streamOf(Buffer.from(lines.join('\n'))), copyText))
  }
  const lines = archive.split('\n')
  const without = lines.filter((line) => !line.startsWith(beginning))
  expect(await compareContents(await contentsOf(lines), await contentsOf(without))).toEqual([
    { detail: `${name} of stage "live" of project 1 was not restored` },
  ])
})

test('what a restore leaves when its process dies is in no list, and is swept away', async () => {
  const before = await traces()
  const running = randomUUID()
  await wharf.database.query(
    `INSERT INTO control.job (id, kind, status, request, project_ids, max_attempts, heartbeat_at)
     VALUES ($1, 'export', 'running', '{"projects":[]}', '{}', 1, now() + interval '1 hour')`,
    [running],
  )
  const goingOn = `scratch-${randomUUID()}`
  await createScratchProject(wharf.container, running, { slug: goingOn, stages: [{ slug: 'live' }] })
  const left = { slug: `scratch-${randomUUID()}`, stages: [{ slug: 'live' }, { slug: 'draft' }] }
  await createScratchProject(wharf.container, randomUUID(), left)
  expect((await wharf.root.get('/projects?limit=200')).text).not.toContain('scratch-')

  const slugs = async () => wharf.database.query(`SELECT slug FROM control.project WHERE slug LIKE 'scratch-%'`)
  expect(await slugs()).toHaveLength(2)
  await sweepScratchProjects(wharf.container)
  expect(await slugs()).toEqual([{ slug: goingOn }])
  await wharf.database.query('DELETE FROM control.job WHERE id = $1', [running])
  await sweepScratchProjects(wharf.container)
  expect(await traces()).toEqual(before)
})

test('a run that is cancelled while its archive is being restored leaves nothing', async () => {
  await createProject(
    wharf,
    'slow',
    `CREATE DOMAIN pausing AS integer CHECK (${PAUSE}); CREATE TABLE item (n pausing);`,
  )
  expect((await applyScript(wharf, 'slow', 'INSERT INTO item VALUES (1), (2);')).status).toBe(200)
  const schedule = await makeSchedule(wharf.root, 'slow', { verify: true, enabled: false })
  const before = await traces()
  await withPausePoint(wharf, async (pausePoint) => {
    const { id } = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
    await pausePoint.reached()
    // Progress is written down with the next sign of life.
    await eventually(() => showJob(wharf.root, id)).toMatchObject({
      status: 'running',
      progress: { phase: 'checking' },
    })
    await wharf.root.post(`/jobs/${id}/cancel`)
    await untilStatus(wharf.root, id, 'cancelled')
  })
  await eventually(traces).toEqual(before)
  expect(await untilSettled(wharf, schedule)).toMatchObject({ lastRun: { status: 'cancelled' }, lastSuccess: null })
})
