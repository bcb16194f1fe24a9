import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { askExport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { makeSchedule, runWhenDue, showSchedule } from '../support/jobs/schedules.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedCluster } from '../support/servers/installed-cluster.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Of what music shops have: keys, defaults, a view, a function, a trigger, an enum, and values of many kinds. */
const MUSIC = `
  CREATE TYPE medium AS ENUM ('vinyl', 'tape');
  CREATE TABLE artist (id serial PRIMARY KEY, name text NOT NULL UNIQUE);
  CREATE TABLE album (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, artist_id int NOT NULL REFERENCES artist,
    title text NOT NULL, medium medium DEFAULT 'vinyl', price numeric(6, 2) CHECK (price > 0), released date, tags text[]);
  CREATE INDEX album_title ON album (lower(title));
  CREATE FUNCTION cheap(numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 < 10';
  CREATE VIEW bargain AS SELECT title, name FROM album JOIN artist ON artist.id = artist_id WHERE cheap(price);
  CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.released := coalesce(NEW.released, ''2000-01-01''); RETURN NEW; END';
  CREATE TRIGGER stamped BEFORE INSERT ON album FOR EACH ROW EXECUTE FUNCTION stamp();
  INSERT INTO artist (name) SELECT 'artist ' || n FROM generate_series(1, 50) n;
  INSERT INTO album (artist_id, title, price, tags)
    SELECT 1 + n % 50, 'album ' || n, 1 + n % 20, ARRAY['a', NULL, n::text] FROM generate_series(1, 500) n`

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(MUSIC, installedCluster()?.createDatabase)
  wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

/** The lines of an archive but for those that say what it lacks: owners of the database, and rights of its logins. */
const contentOf = (archive: string): readonly string[] =>
  comparableLines(archive).filter((line) => !line.startsWith('{"stage":'))

/** Attaches the database for as long as `use` takes. */
async function whileAttached<T>(login: 'owner' | 'reader', use: (slug: string) => Promise<T>): Promise<T> {
  const slug = `music-of-${login}`
  const attach = { address: external[login].href, stages: [{ slug: 'live', schema: 'public' }] }
  const made = await wharf.root.post('/projects', { json: { slug, attach } })
  expect(made.status, made.text).toBe(201)
  try {
    return await use(slug)
  } finally {
    expect((await wharf.root.delete(`/projects/${slug}/attachment`)).status).toBe(204)
  }
}

test.each(['owner', 'reader'] as const)(
  'the %s of an attached database exports it, and it comes back in a project',
  (login) =>
    whileAttached(login, async (slug) => {
      const archive = await exportOf(wharf.root, slug)
      const ended = await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug }])))
      expect(ended).toMatchObject({ status: 'succeeded', error: null })
      const copy = `copy-of-${login}`
      await createProject(wharf, copy)
      const transfer = { json: { source: { project: slug }, target: { project: copy } } }
      const transferred = await untilEnded(wharf.root, jobOf(await wharf.root.post('/transfer', transfer)))
      expect(transferred).toMatchObject({ status: 'succeeded', error: null })
      expect(contentOf(await exportOf(wharf.root, copy))).toEqual(contentOf(archive))
      expect((await wharf.root.get(`/content/${copy}/live/bargain?limit=1`)).status).toBe(200)
    }),
)

test('a schedule of an attached project makes archives that are proven', () =>
  whileAttached('reader', async (slug) => {
    const schedule = await makeSchedule(wharf.root, slug, { verify: true })
    const done = await runWhenDue(wharf, schedule)
    expect(done.lastRun).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
    expect((await wharf.root.delete(`/schedules/${schedule.id}`)).status).toBe(204)
  }))

/** What another version of PostgreSQL prints in other words, and what names roles that Wharf's own server need not have. */
const WORDS_AND_ROLES = `
  CREATE EXTENSION citext;
  CREATE TABLE item (id int PRIMARY KEY, name citext, price numeric CHECK (price IN (1, 2)));
  INSERT INTO item VALUES (1, 'Crane', 1), (2, 'rope', 2);
  CREATE VIEW dear AS SELECT id, name FROM item WHERE price > 1;
  CREATE VIEW dearest AS SELECT name FROM dear d WHERE id = (SELECT max(id) FROM item);
  CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM item WHERE id > 0;
  CREATE RULE quiet AS ON DELETE TO item WHERE old.id = 0 DO INSTEAD NOTHING;
  CREATE FUNCTION most() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT max(id) FROM item WHERE id > 0; END;
  CREATE POLICY any_of ON item FOR SELECT TO PUBLIC USING (id > (SELECT min(n) FROM counted))`

test('an archive of what another version prints in other words, and of rights of roles that are not here, is proven', async () => {
  const other = await createExternalDatabase(WORDS_AND_ROLES, installedCluster()?.createDatabase)
  const reader = decodeURIComponent(other.reader.username)
  await other.run(`CREATE POLICY own ON item TO ${reader} USING (id > 1); GRANT UPDATE (name) ON item TO ${reader}`)
  const attach = { address: other.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
  expect((await wharf.root.post('/projects', { json: { slug: 'words', attach } })).status).toBe(201)
  const request = { projects: [{ slug: 'words', grants: true }] }
  const schedule = await makeSchedule(wharf.root, 'words', { verify: true, request })
  const { lastRun } = await runWhenDue(wharf, schedule)
  const job = await wharf.root.get(`/jobs/${lastRun?.jobId}`)
  expect(lastRun, job.text).toMatchObject({ status: 'succeeded', provenAt: expect.any(String) })
  expect((await wharf.root.delete(`/schedules/${schedule.id}`)).status).toBe(204)
  expect((await wharf.root.delete('/projects/words/attachment')).status).toBe(204)
  await other.drop()
})

test('two commands lead to a first archive, one more to a nightly one that is proven, and one more to a copy', async () => {
  const server = ['--server', dsnOf(wharf)]
  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(args)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    return stdout
  }
  const path = join(await temporaryFolder(), 'music.jsonl.gz')
  const music = dsnOf(wharf, 'music')
  await done('project:attach', 'music', external.owner.href, ...server)
  await done('data:export', music, '--output', path, '--quiet')

  const nightly = ['--name', 'nightly', '--cron', '@daily', '--verify', '--json']
  const schedule = await showSchedule(
    wharf.root,
    JSON.parse(await done('schedule:create', '--project', 'music', ...nightly, ...server)),
  )
  expect((await runWhenDue(wharf, schedule)).lastRun).toMatchObject({ provenAt: expect.any(String) })

  await createProject(wharf, 'copied')
  await done('data:transfer', music, dsnOf(wharf, 'copied'), '--yes', '--quiet')
  await createProject(wharf, 'restored')
  await done('data:import', path, dsnOf(wharf, 'restored'), '--yes', '--quiet')
  const original = contentOf(await exportOf(wharf.root, 'music'))
  for (const copy of ['copied', 'restored']) expect(contentOf(await exportOf(wharf.root, copy))).toEqual(original)
  await done('project:detach', 'music', '--delete-schedules', '--yes', ...server)
})

test('with the system section, roles come along, and of the log that the stage was made', () =>
  whileAttached('reader', async (slug) => {
    const lines = (await exportOf(wharf.root, slug, { system: true })).split('\n')
    expect(lines.filter((line) => line.startsWith('{"role":'))).toHaveLength(4)
    const events = lines.filter((line) => line.startsWith('{"event":'))
    expect(events).toEqual([expect.stringContaining('"kind":"structure"')])
  }))

const bin = installedPrograms()

test.skipIf(bin === undefined)(
  'pg_dump says the same before a database is attached and after it is detached',
  async () => {
    const dump = async (): Promise<string> =>
      (await promisify(execFile)(join(bin ?? '', 'pg_dump'), ['-s', external.database.superuserUrl])).stdout.replace(
        /^\\(un)?restrict .*$/gm,
        '',
      )
    const before = await dump()
    await whileAttached('owner', async (slug) => {
      await exportOf(wharf.root, slug)
      await untilEnded(wharf.root, jobOf(await askExport(wharf.root, [{ slug }])))
    })
    expect(await dump()).toBe(before)
  },
)
