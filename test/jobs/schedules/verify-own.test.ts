import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../support/cli/cli.ts'
import { dsnOf } from '../../support/cli/dsn.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { eventually } from '../../support/eventually.ts'
import { AGAIN, jobOf, showJob, startWorkerProcess, untilEnded, untilStatus } from '../../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue, scheduleOf } from '../../support/jobs/schedules.ts'
import { query, withSession } from '../../support/servers/sessions.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import { applyScript } from '../../support/service/projects.ts'
import { startWharfOfLogin, type WharfOfLogin } from '../../support/service/wharf-of-login.ts'

/** Bodies that name `public`, and what is in it, as they do who want an index over `unaccent`. */
const NAMING = `
  CREATE EXTENSION unaccent;
  CREATE FUNCTION f_unaccent(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    AS $$ SELECT public.unaccent('public.unaccent', $1) $$;
  CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL);
  CREATE FUNCTION is_known(n int) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN RETURN n > 0 AND public.f_unaccent('é') = 'e'; END $$;
  ALTER TABLE item ADD CONSTRAINT known CHECK (is_known(id));
  CREATE INDEX by_name ON item (f_unaccent(name));
  INSERT INTO item VALUES (1, 'Citroën'), (2, 'Škoda');
  CREATE FUNCTION plain_names() RETURNS SETOF text LANGUAGE plpgsql
    AS $$ BEGIN RETURN QUERY SELECT public.f_unaccent(name) FROM public.item ORDER BY id; END $$;
  CREATE MATERIALIZED VIEW plain AS SELECT * FROM plain_names() AS name`

/** A second schema, whose index calls what is in the first by a body that says so. */
const SALES = `
  CREATE SCHEMA "Sales"; CREATE SCHEMA audit;
  CREATE FUNCTION "Sales".plain(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT public.f_unaccent($1) $$;
  CREATE TABLE "Sales".sale (item text); INSERT INTO "Sales".sale VALUES ('Citroën');
  CREATE INDEX ON "Sales".sale ("Sales".plain(item));
  CREATE FUNCTION audit.first(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT "Sales".plain($1) $$;
  CREATE TABLE audit.entry (what text CHECK (audit.first(what) IS NOT NULL)); INSERT INTO audit.entry VALUES ('é')`

/** The same of a project's own. */
const OWN = `
  CREATE FUNCTION plain(text) RETURNS text LANGUAGE sql IMMUTABLE RETURN translate($1, 'ë', 'e');
  CREATE FUNCTION plainer(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT public.plain($1)';
  CREATE TABLE item (name text); CREATE INDEX ON item (plainer(name)); INSERT INTO item VALUES ('Citroën')`

/** Stops where the archive is proven: for its rows, in the order of the stage. */
const SLOW = `
  CREATE FUNCTION here(n int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    IF current_database() LIKE 'wharf\\_%' THEN PERFORM pg_sleep(600); END IF; RETURN true; END $$;
  CREATE TABLE item (n int CHECK (here(n))); INSERT INTO item VALUES (1)`

let wharf: WharfOfLogin
beforeAll(async () => {
  wharf = await startWharfOfLogin('CREATEROLE CREATEDB', { environment: MAY_ATTACH, worker: true })
})
afterAll(async () => {
  await wharf?.root.delete('/projects/own?deleteSchedules=true')
  await wharf?.close()
})

async function attach(
  slug: string,
  script: string,
  stages: readonly { slug: string; schema: string }[] = [{ slug: 'live', schema: 'public' }],
  at = wharf,
): Promise<ExternalDatabase> {
  const external = await createExternalDatabase(script)
  const made = await at.root.post('/projects', { json: { slug, attach: { address: external.owner.href, stages } } })
  expect(made.status, made.text).toBe(201)
  return external
}

/** Every database that the service has made, and every project, also those of nobody. */
const left = async (at = wharf): Promise<unknown> => ({
  databases: await at.madeDatabases(),
  projects: await at.container.control.prisma.project.findMany({ select: { slug: true }, orderBy: { slug: 'asc' } }),
})

test('an archive whose functions name their schema, and an extension in it, is proven by a schedule of the command line', async () => {
  const server = ['--server', dsnOf(wharf)]
  await attach('named', NAMING)
  const before = await left()
  const made = await runCommand([
    ...[
      'schedule:create',
      '--name',
      'nightly',
      '--cron',
      '@daily',
      '--project',
      'named',
      '--verify',
      '--json',
      ...server,
    ],
  ])
  expect(made.code, made.stderr).toBe(0)
  const { lastRun } = await runWhenDue(
    wharf,
    scheduleOf(await wharf.root.get(`/schedules/${JSON.parse(made.stdout).id}`)),
  )
  const job = await wharf.root.get(`/jobs/${lastRun?.jobId}`)
  expect(lastRun, job.text).toMatchObject({ status: 'succeeded' })
  const shown = await runCommand(['schedule:show', 'nightly', '--json', ...server])
  expect(JSON.parse(shown.stdout)).toMatchObject({ lastProven: { jobId: lastRun?.jobId } })
  expect(await left()).toEqual(before)
})

test('one whose stages name each other is proven, whatever their order', async () => {
  const stages = [
    { slug: 'audit', schema: 'audit' },
    { slug: 'sales', schema: 'Sales' },
    { slug: 'live', schema: 'public' },
  ]
  await attach('several', `${NAMING}; ${SALES}`, stages)
  const schedule = await makeSchedule(wharf.root, 'several', { verify: true })
  const { lastRun } = await runWhenDue(wharf, schedule)
  const job = await wharf.root.get(`/jobs/${lastRun?.jobId}`)
  expect(lastRun, job.text).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
})

test('an archive of a project with a database of its own is proven where it is called the same', async () => {
  const made = await wharf.root.post('/projects', { json: { slug: 'own', ownDatabase: true } })
  expect(made.status, made.text).toBe(201)
  const applied = await applyScript(wharf, 'own', OWN)
  expect(applied.status, applied.text).toBe(200)
  const schedule = await makeSchedule(wharf.root, 'own', {
    verify: true,
    request: { projects: [{ slug: 'own', system: true }] },
  })
  const { lastRun } = await runWhenDue(wharf, schedule)
  const job = await wharf.root.get(`/jobs/${lastRun?.jobId}`)
  expect(lastRun, job.text).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
})

test('projects of every kind are proven in one archive', async () => {
  const shared = await wharf.root.post('/projects', { json: { slug: 'shared' } })
  expect(shared.status).toBe(201)
  expect(
    (await applyScript(wharf, 'shared', 'CREATE TABLE item (n int); INSERT INTO item VALUES (1), (2);')).status,
  ).toBe(200)
  const projects = ['named', 'shared', 'several'].map((slug) => ({ slug, system: true }))
  const schedule = await makeSchedule(wharf.root, 'shared', { verify: true, request: { projects } })
  const proven = (await runWhenDue(wharf, schedule)).lastRun
  const job = await wharf.root.get(`/jobs/${proven?.jobId}`)
  expect(proven, job.text).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
})

test('a worker that is killed while it proves leaves nothing once the next has done so, and no other login gets in', async () => {
  const own = await startWharfOfLogin('CREATEROLE CREATEDB', { environment: MAY_ATTACH })
  onTestFinished(() => own.close())
  const external = await attach('slow', SLOW, undefined, own)
  const schedule = await makeSchedule(own.root, 'slow', { verify: true, enabled: false })
  const before = await left(own)
  const worker = await startWorkerProcess(own, { ...MAY_ATTACH, DATABASE_URL: own.databaseUrl })
  const asked = jobOf(await own.root.post(`/schedules/${schedule.id}/run`))
  const [database] = await untilProving(own)
  const url = Object.assign(new URL(external.owner), { pathname: `/${database}` })
  await expect(withSession(url.href, async () => undefined)).rejects.toThrow(/permission denied for database/)
  await worker.kill('SIGKILL')
  await external.run(`CREATE OR REPLACE FUNCTION here(n int) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
  await startWorkerProcess(own, { ...MAY_ATTACH, DATABASE_URL: own.databaseUrl })
  expect(await untilEnded(own.root, asked)).toMatchObject({ status: 'succeeded', attempt: AGAIN })
  expect(await left(own)).toEqual(before)
})

test('a proof that is cancelled leaves nothing', async () => {
  await attach('cancelled', SLOW)
  const schedule = await makeSchedule(wharf.root, 'cancelled', { verify: true, enabled: false })
  const before = await left()
  const { id } = jobOf(await wharf.root.post(`/schedules/${schedule.id}/run`))
  await untilProving(wharf)
  await wharf.root.post(`/jobs/${id}/cancel`)
  await untilStatus(wharf.root, id, 'cancelled')
  await eventually(left).toEqual(before)
})

test('where Wharf may not make databases, what cannot be proven says so, with the statement that allows it', async () => {
  const modest = await startWharfOfLogin('CREATEROLE', { worker: true, environment: MAY_ATTACH })
  onTestFinished(() => modest.close())
  await attach('named', NAMING, undefined, modest)
  const { lastRun } = await runWhenDue(modest, await makeSchedule(modest.root, 'named', { verify: true }))
  const job = await showJob(modest.root, lastRun?.jobId ?? '')
  expect(job, JSON.stringify(job)).toMatchObject({
    status: 'failed',
    error: {
      code: 'PROOF_FAILED',
      detail: expect.stringMatching(
        new RegExp(`in the function f_unaccent: .*RETURN or BEGIN ATOMIC.*ALTER ROLE "${modest.login}" CREATEDB`),
      ),
    },
  })
})

/** Waits until an archive is being proven, in the middle of its rows. @returns in which databases. */
async function untilProving(at: WharfOfLogin): Promise<readonly string[]> {
  const proving = async (): Promise<readonly string[]> => {
    const rows = await query<{ name: string }>(
      at.database.superuserUrl,
      `SELECT datname::text AS name FROM pg_stat_activity WHERE wait_event = 'PgSleep'`,
    )
    const made = await at.madeDatabases()
    return rows.flatMap(({ name }) => (made.includes(name) ? [name] : []))
  }
  await eventually(proving).not.toEqual([])
  return proving()
}
