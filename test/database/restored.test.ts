import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { comparableLines, contentsOf, exportOf, sendArchive } from '../support/archives/import.ts'
import { readCommands } from '../support/cli/guide.ts'
import type { TestDatabase } from '../support/database/database.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { query } from '../support/servers/sessions.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { SECRET_KEY } from '../support/service/service-process.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * Wharf's own database, from a dump, on a server that has nothing of Wharf's. The tests go on from one dump.
 */

const run = promisify(execFile)
const bin = installedPrograms()

/** An object of every kind that a project can make without a superuser. */
const OBJECTS = `
  CREATE TYPE mood AS ENUM ('good'); CREATE DOMAIN short AS text CHECK (length(value) < 9);
  CREATE TYPE pair AS (a int, b int); CREATE TYPE span AS RANGE (subtype = int);
  CREATE TABLE item (id serial PRIMARY KEY, other int GENERATED ALWAYS AS IDENTITY, name short, mood mood);
  CREATE TABLE part (id int, item int REFERENCES item) PARTITION BY RANGE (id);
  CREATE TABLE part_all PARTITION OF part DEFAULT;
  CREATE SEQUENCE numbers; CREATE STATISTICS both_columns ON id, other FROM item;
  CREATE VIEW first AS SELECT * FROM item WHERE id = 1; CREATE MATERIALIZED VIEW kept AS SELECT * FROM item;
  CREATE FUNCTION longer(pair, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.a + $2';
  CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int);
  CREATE OPERATOR @+ (FUNCTION = longer, LEFTARG = pair, RIGHTARG = int);
  CREATE COLLATION plain FROM "C"; CREATE TEXT SEARCH CONFIGURATION simple_words (COPY = simple);
  INSERT INTO item (name, mood) VALUES ('hat', 'good'), ('scarf', NULL)`

/** What belongs to Wharf's login outside of its own schemas. */
const OUTSIDE = `
  SELECT pg_describe_object(classid, objid, 0) AS object FROM pg_shdepend
   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     AND deptype = 'o' AND refobjid = 'wharf'::regrole AND classid <> 'pg_default_acl'::regclass
     AND pg_describe_object(classid, objid, 0) !~ '(\\m(control|system|wharf|wharf_start|bullmq|extensions)\\M|_prisma_migrations|schema public)'`

/** Functions of Wharf's that any login may call. */
const OPEN_FUNCTIONS = `
  SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
   WHERE pronamespace = 'wharf'::regnamespace AND grantee = 0`

describe.skipIf(bin === undefined)('a dump of Wharf’s database', () => {
  let cluster: OwnCluster
  let folder: string
  let ownDatabase: string
  let blocks: readonly string[]
  const exports = new Map<string, string>()

  const urlOf = (url: string, name: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href
  const asSuperuser = (sql: string, database = 'postgres') => query(urlOf(cluster.superuserUrl, database), sql)
  const wharfDatabase = (): TestDatabase => ({
    url: urlOf(cluster.url, 'wharf'),
    superuserUrl: urlOf(cluster.superuserUrl, 'wharf'),
    query: (sql, parameters) => query(urlOf(cluster.superuserUrl, 'wharf'), sql, parameters),
    drop: async () => undefined,
  })
  const start = (): Promise<TestWharf> =>
    startWharf({ database: wharfDatabase(), environment: { WHARF_SECRET_KEY: SECRET_KEY } })
  const type = (text: string) => {
    const { port } = new URL(cluster.url)
    const env = { PATH: `${bin}:${process.env.PATH}`, PGHOST: '127.0.0.1', PGPORT: port, PGUSER: 'postgres' }
    return run('sh', ['-e', '-c', text], { cwd: folder, env })
  }

  /** As on a new server: no database of Wharf's, and no login of a project's. */
  async function forget(): Promise<void> {
    for (const name of ['wharf', ownDatabase]) await asSuperuser(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
    const logins = await query<{ login: string }>(
      cluster.superuserUrl,
      `SELECT rolname AS login FROM pg_roles WHERE rolname ~ '^wharf_'`,
    )
    for (const { login } of logins) await asSuperuser(`DROP ROLE "${login}"`)
  }

  /** Restores a dump into a database of Wharf's login. @param options of `pg_restore`, which complains of missing logins. */
  async function restore(name: string, options: string): Promise<void> {
    onTestFinished(forget)
    await asSuperuser(`CREATE DATABASE "${name}" OWNER wharf TEMPLATE template0`)
    await type(`pg_restore ${options} --dbname="${name}" "${name}.dump" || true`)
  }
  const AS_WHARF = '--no-owner --role=wharf'

  /** A service that reads, writes, exports and imports each project. */
  async function expectAllUsable(wharf: TestWharf, slugs: readonly string[] = ['shop', 'alone']): Promise<void> {
    for (const slug of slugs) {
      expect(await exportOf(wharf.root, slug, { system: false })).toContain('"hat"')
      const read = await wharf.root.get(`/content/${slug}/live/item?select=name&order=id`)
      expect(read, read.text).toMatchObject({ status: 200, json: [{ name: 'hat' }, { name: 'scarf' }] })
      // Rows of databases of their own are not written over HTTP.
      if (slug === 'shop') {
        const written = await wharf.root.post('/content/shop/live/item', { json: { name: 'glove' } })
        expect(written, written.text).toMatchObject({ status: 201 })
      }
      const imported = await sendArchive(wharf.root, exports.get(slug) ?? '')
      expect(imported, imported.text).toMatchObject({ status: 200 })
      const changed = await applyScript(wharf, slug, 'ALTER TABLE item ADD made date; DROP VIEW first')
      expect(changed, changed.text).toMatchObject({ status: 200 })
    }
  }

  beforeAll(async () => {
    cluster = await startOwnCluster(bin ?? '')
    folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
    blocks = await readCommands('operations.md', '### The whole database')
    await asSuperuser('CREATE DATABASE wharf OWNER wharf TEMPLATE template0')
    const wharf = await start()
    await createProject(wharf, 'shop', OBJECTS)
    await wharf.root.post('/projects', { json: { slug: 'alone', ownDatabase: true } })
    await applyScript(wharf, 'alone', OBJECTS)
    for (const slug of ['shop', 'alone']) exports.set(slug, await exportOf(wharf.root, slug, { system: false }))
    const { prisma } = wharf.container.control
    ownDatabase = (await prisma.project.findUniqueOrThrow({ where: { slug: 'alone' } })).ownDatabase ?? ''
    await wharf.close()
    await type(blocks[0] ?? '')
    await forget()
  })

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
    await cluster.remove()
  })

  test('restored as the docs say, has all projects', async () => {
    onTestFinished(forget)
    await type(blocks[1] ?? '')
    const wharf = await start()
    onTestFinished(wharf.close)
    await expectAllUsable(wharf)
    expect(wharf.log()).not.toContain('was made again')
  })

  test('restored without the logins of projects, has all projects again', async () => {
    await restore('wharf', AS_WHARF)
    expect(await asSuperuser(OPEN_FUNCTIONS, 'wharf'), 'what a restore leaves').not.toEqual([])
    const early = await start()
    await expectAllUsable(early, ['shop'])
    expect(await asSuperuser(OPEN_FUNCTIONS, 'wharf')).toEqual([])
    expect(early.log()).toContain("the database of a project's own is not on this server")
    await early.close()
    await restore(ownDatabase, AS_WHARF)
    const wharf = await start()
    onTestFinished(wharf.close)
    for (const name of ['wharf', ownDatabase]) expect(await asSuperuser(OUTSIDE, name), name).toEqual([])
    await expectAllUsable(wharf, ['alone'])
  })

  test('restored after the logins, but without their rights on the database, has its projects', async () => {
    await type(`psql --quiet --dbname=postgres --file=roles.sql`)
    await restore('wharf', '')
    const wharf = await start()
    onTestFinished(wharf.close)
    expect(await contentsOf(wharf, 'shop')).toEqual(comparableLines(exports.get('shop') ?? ''))
    expect(wharf.log()).toContain("a project's login had lost rights")
  })

  test('restored by a superuser as his own is refused, with what to do', async () => {
    await restore('wharf', '--no-owner')
    await expect(start()).rejects.toThrow(
      `Wharf's tables in the database "wharf" belong to "postgres", and Wharf's database login is "wharf": start with the ` +
        'login that they belong to, or restore the database again as "wharf" (pg_restore --no-owner --role="wharf")',
    )
  })

  test('whose projects a superuser has restored as his own is refused, and nothing is repaired halfway', async () => {
    await restore('wharf', '')
    for (const attempt of ['the first start', 'the second']) {
      await expect(start(), attempt).rejects.toThrow(
        'what project "shop" has belongs to "postgres"; restore again, with the logins first, or as Wharf’s login',
      )
    }
  })
})
