import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { libraryEnvironment } from '../../src/database/embedded/binaries.ts'
import { comparableLines, exportOf, sendArchive } from '../support/archives/import.ts'
import { runCommand } from '../support/cli/cli.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { oldestPrograms } from '../support/servers/oldest-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { query } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const DUMP = join(import.meta.dirname, '..', 'fixtures', 'dumped.sql')

/** More than the dump has, without its range type, which only imports in place can keep. */
const MORE = `
  CREATE TABLE counted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz, UNIQUE (at));
  CREATE UNLOGGED TABLE unlogged (id int GENERATED ALWAYS AS IDENTITY);
  INSERT INTO unlogged DEFAULT VALUES;
  CREATE TABLE parted (at date NOT NULL, n int) PARTITION BY RANGE (at);
  CREATE TABLE parted_2026 PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
  INSERT INTO parted SELECT date '2026-01-01' + n, n FROM generate_series(1, 100) n;
  CREATE COLLATION phonebook (PROVIDER = icu, LOCALE = 'de-u-co-phonebk');
  CREATE TABLE sorted (name text COLLATE phonebook PRIMARY KEY);
  INSERT INTO sorted VALUES ('Adler'), ('Ärger'), ('Affe');
  CREATE STATISTICS both_columns ON at, n FROM parted;
  DROP TYPE span CASCADE`

const programs = oldestPrograms()

describe.skipIf(programs === undefined)('PostgreSQL 14', () => {
  let links: string
  let cluster: OwnCluster
  let wharf: TestWharf
  let external: ExternalDatabase

  beforeAll(async () => {
    // npm packages hold no symbolic links, and not every npm runs what would make them.
    links = await mkdtemp(join(tmpdir(), 'wharf-test-links-'))
    const bin = programs ?? ''
    const environment = await libraryEnvironment(
      { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb') },
      links,
    )
    cluster = await startOwnCluster(bin, { environment })
    external = await createOldDatabase()
    await external.run(await readFile(DUMP, 'utf8'))
    await external.run(MORE)
    wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: external.owner.host } })
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
    const made = await wharf.root.post('/projects', { json: { slug: 'old', attach } })
    expect(made.status, made.text).toBe(201)
  })
  afterAll(async () => {
    await wharf?.close()
    await external?.drop()
    await cluster?.remove()
    await rm(links, { recursive: true, force: true })
  })

  /** Before PostgreSQL 15, `public` belongs to the superuser, and everybody may make things in it. */
  async function createOldDatabase(): Promise<ExternalDatabase> {
    const database = await createExternalDatabase('SELECT', cluster.createDatabase)
    await query(
      database.database.superuserUrl,
      'ALTER SCHEMA public OWNER TO postgres; GRANT ALL ON SCHEMA public TO PUBLIC',
    )
    return database
  }

  const contents = async (slug: string): Promise<readonly string[]> =>
    comparableLines(await exportOf(wharf.root, slug, { system: false }))

  test('what is in PostgreSQL 14 goes out, comes back, and an undo brings back what was there', async () => {
    const archive = await exportOf(wharf.root, 'old', { system: false })
    await external.run('UPDATE parted SET n = -n')
    const changed = await contents('old')
    const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=old' })
    expect(imported.status, imported.text).toBe(200)
    expect(await contents('old')).toEqual(comparableLines(archive))
    const undone = await wharf.root.post('/projects/old/stages/live/undo?force=true')
    expect(undone.status, undone.text).toBe(200)
    expect(await contents('old')).toEqual(changed)
  })

  test('what only later versions keep out of their log comes to PostgreSQL 14, which logs every sequence', async () => {
    await createProject(
      wharf,
      'later',
      `CREATE UNLOGGED TABLE kept_out (id int GENERATED ALWAYS AS IDENTITY); CREATE UNLOGGED SEQUENCE alone;
       CREATE UNLOGGED TABLE half (id int GENERATED ALWAYS AS IDENTITY); ALTER SEQUENCE half_id_seq SET LOGGED;
       INSERT INTO kept_out DEFAULT VALUES; INSERT INTO half DEFAULT VALUES`,
    )
    await external.run('CREATE SCHEMA empty')
    const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'empty' }] }
    expect(await wharf.root.post('/projects', { json: { slug: 'earlier', attach } })).toMatchObject({ status: 201 })
    const archive = await exportOf(wharf.root, 'later', { system: false })
    const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=earlier' })
    expect(imported.status, imported.text).toBe(200)
    const rows = (lines: readonly string[]) => lines.filter((line) => line.startsWith('{"row'))
    expect(rows(await contents('earlier'))).toEqual(rows(comparableLines(archive)))
  })

  test('what is in PostgreSQL 14 comes to a project of a later version', async () => {
    await createProject(wharf, 'newer')
    const imported = await sendArchive(wharf.root, await exportOf(wharf.root, 'old'), { query: '?targetSlug=newer' })
    expect(imported.status, imported.text).toBe(200)
    // Later versions word views in another way.
    const rowsOf = async (slug: string) => (await contents(slug)).filter((line) => line.startsWith('{"row"'))
    expect(await rowsOf('newer')).toEqual(await rowsOf('old'))
    expect((await rowsOf('newer')).length).toBeGreaterThan(200)
  })

  test('the command line brings one database of PostgreSQL 14 into another, which is then the same', async () => {
    const copy = await createOldDatabase()
    try {
      const moved = await runCommand(['data:transfer', external.owner.href, copy.owner.href, '--yes'])
      expect(moved, moved.stderr).toMatchObject({ code: 0 })
      const lines = async ({ owner }: ExternalDatabase): Promise<readonly string[]> => {
        const exported = await runCommand(['data:export', owner.href, '--output', '-', '--no-gzip'])
        // Their readers differ.
        return comparableLines(exported.stdout).filter((line) => !line.startsWith('{"stage"'))
      }
      expect(await lines(copy)).toEqual(await lines(external))
    } finally {
      await copy.drop()
    }
  })
})
