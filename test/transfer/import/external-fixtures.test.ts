import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attachmentSchema } from '../../../src/contract/attachment.ts'
import { generatedSchema } from '../../support/archives/generated-schema.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { eventually } from '../../support/eventually.ts'
import { installedCluster } from '../../support/servers/installed-cluster.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import { query } from '../../support/servers/sessions.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

const cluster = installedCluster()

/** A stage in the answer of a dry run. */
interface Examined {
  readonly mode: string
  readonly reasonsInPlace: readonly string[]
  readonly undoable: boolean
}

const TABLES = `
  CREATE TABLE item (id serial PRIMARY KEY, note text); INSERT INTO item (note) SELECT 'n' || n FROM generate_series(1, 20) n;
  CREATE TABLE part (id int PRIMARY KEY, item_id int REFERENCES item); INSERT INTO part VALUES (1, 1), (2, 3);
  CREATE VIEW both_of AS SELECT item.id, note FROM item JOIN part ON item_id = item.id`

/** What a database has that others would not expect, made by its superuser once the owner has made the tables. */
const FIXTURES: Readonly<
  Record<string, { readonly sql: (owner: string, reader: string) => string; readonly mode: string }>
> = {
  'tables of several owners, of whose roles the login is a member': {
    sql: (owner, reader) => `GRANT ${reader} TO ${owner}; GRANT CREATE ON SCHEMA public TO ${reader};
      ALTER TABLE part OWNER TO ${reader}`,
    mode: 'in place',
  },
  'a publication of a table': { sql: () => 'CREATE PUBLICATION sent FOR TABLE item', mode: 'in place' },
  'a publication of the schema': { sql: () => 'CREATE PUBLICATION sent FOR TABLES IN SCHEMA public', mode: 'in place' },
  'a publication of all tables': { sql: () => 'CREATE PUBLICATION sent FOR ALL TABLES', mode: 'in place' },
  'default privileges that others have given': {
    sql: (
      owner,
      reader,
    ) => `ALTER DEFAULT PRIVILEGES FOR ROLE ${reader} IN SCHEMA public GRANT SELECT ON TABLES TO ${owner};
      ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} GRANT INSERT ON TABLES TO ${reader};
      ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} IN SCHEMA public GRANT SELECT ON TABLES TO ${reader}`,
    mode: 'in place',
  },
  'an event trigger that writes': {
    sql: () => `CREATE SCHEMA audit; GRANT USAGE ON SCHEMA audit TO PUBLIC; CREATE TABLE audit.log (tag text);
      CREATE FUNCTION audit.note() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
        AS 'BEGIN INSERT INTO audit.log VALUES (tg_tag); DELETE FROM audit.log; END';
      CREATE EVENT TRIGGER noted ON ddl_command_end EXECUTE FUNCTION audit.note()`,
    mode: 'swap',
  },
}

describe.skipIf(cluster === undefined)('an attached database', () => {
  let wharf: TestWharf

  beforeAll(async () => {
    wharf = await startWharf({ environment: { WHARF_TRANSFER_HOSTS: '127.0.0.1,localhost' } })
  })
  afterAll(() => wharf?.close())

  /** All of a database but what imports have left, as `pg_dump` has it, without the order that it gives things. */
  async function dumpOf({ database }: ExternalDatabase): Promise<readonly string[]> {
    const args = ['--exclude-schema', 'wharf_*', database.superuserUrl]
    const { stdout } = await promisify(execFile)(join(installedPrograms() ?? '', 'pg_dump'), args, {
      maxBuffer: 2 ** 28,
    })
    return stdout
      .split('\n')
      .filter((line) => !/^\\(un)?restrict |^-- /.test(line))
      .toSorted()
  }

  /** Makes a database, attaches it, and forgets it again. */
  async function withAttached(
    script: string,
    asSuperuser: (owner: string, reader: string) => string,
    use: (external: ExternalDatabase) => Promise<void>,
  ) {
    const external = await createExternalDatabase(script, cluster?.createDatabase)
    try {
      await query(
        external.database.superuserUrl,
        `CREATE EXTENSION citext; ${asSuperuser(external.owner.username, external.reader.username)}`,
      )
      await attach('x', external.owner)
      await use(external)
    } finally {
      await wharf.root.delete('/projects/x/attachment')
      await external.drop()
    }
  }

  async function attach(slug: string, address: URL): Promise<void> {
    const attach = { address: address.href, stages: [{ slug: 'live', schema: 'public' }] }
    const made = await wharf.root.post('/projects', { json: { slug, attach } })
    expect(made.status, made.text).toBe(201)
  }

  /** Imports what it has over itself, takes that back, and takes back that. @returns how it was imported. */
  async function assertComesBack(external: ExternalDatabase, archive: string): Promise<string> {
    const dump = await dumpOf(external)
    const dry = await sendArchive(wharf.root, archive, { query: '?targetSlug=x&dryRun=true' })
    const shown = attachmentSchema.parse((await wharf.root.get('/projects/x/attachment')).json).stages[0]
    const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=x' })
    expect(answer.status, answer.text).toBe(dry.status)
    expect(await dumpOf(external)).toEqual(dump)
    if (answer.status !== 200) return `refused: ${answer.text}`
    const [
      {
        stages: [stage],
      },
    ] = (dry.json as { projects: [{ stages: [Examined] }] }).projects
    if (stage.mode === 'in place') {
      expect(shown).toMatchObject({ mayImport: 'in place', reasons: stage.reasonsInPlace })
    } else expect(shown?.mayImport).toBe('object by object')
    for (const _ of stage.undoable ? ['undo', 'undo of that'] : []) {
      const undone = await wharf.root.post('/projects/x/stages/live/undo?force=true')
      expect(undone.status, undone.text).toBe(200)
      expect(await dumpOf(external)).toEqual(dump)
    }
    return stage.mode
  }

  test.each(Object.entries(FIXTURES))('with %s is afterwards as it was before', async (_, { sql, mode }) => {
    await withAttached(TABLES, sql, async (external) => {
      const archive = await exportOf(wharf.root, 'x')
      const done = await assertComesBack(external, archive)
      expect(done).toBe(mode)
    })
  })

  test('whose owner is held to row security is not exported, and imported into as a whole or not at all', async () => {
    await withAttached(
      TABLES,
      () => '',
      async (external) => {
        const archive = await exportOf(wharf.root, 'x')
        await external.run(`ALTER TABLE item ENABLE ROW LEVEL SECURITY; ALTER TABLE item FORCE ROW LEVEL SECURITY;
          CREATE POLICY few ON item USING (id > 5)`)
        const refused = await wharf.root.post('/export', { json: { projects: [{ slug: 'x' }] } })
        expect(refused.status, refused.text).toBeGreaterThanOrEqual(400)
        const dump = await dumpOf(external)
        const dry = await sendArchive(wharf.root, archive, { query: '?targetSlug=x&dryRun=true' })
        const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=x' })
        expect([200, 409], answer.text).toContain(answer.status)
        expect(dry.status, dry.text).toBe(answer.status)
        expect(await dumpOf(external)).toEqual(dump)
      },
    )
  })

  test('in which somebody else has made operators that fit better than those of PostgreSQL calls none of them', async () => {
    const traps = ['oid, regclass', 'oid, int4', 'name, varchar', '"char", varchar'].map(
      (pair, n) => `CREATE FUNCTION trap_${n}(${pair}) RETURNS boolean LANGUAGE plpgsql
          AS 'BEGIN RAISE EXCEPTION ''caught % by %'', ''${n}'', current_user; END';
        CREATE OPERATOR = (LEFTARG = ${pair.split(', ')[0]}, RIGHTARG = ${pair.split(', ')[1]}, FUNCTION = trap_${n})`,
    )
    await withAttached(
      TABLES,
      () => '',
      async (external) => {
        const archive = await exportOf(wharf.root, 'x')
        const reader = external.reader.username
        await query(
          external.database.superuserUrl,
          `GRANT CREATE ON SCHEMA public TO ${reader}; SET ROLE ${reader}; ${traps.join('; ')}; RESET ROLE`,
        )
        const refused = {
          status: 409,
          json: { detail: expect.stringMatching(/operator public\.= \(oid, regclass\).* belongs to/) },
        }
        expect(await wharf.root.post('/export', { json: { projects: [{ slug: 'x' }] } })).toMatchObject(refused)
        expect(await sendArchive(wharf.root, archive, { query: '?targetSlug=x' })).toMatchObject(refused)
      },
    )
  })

  test('in which somebody else has made the schema for what imports write down is not imported into', async () => {
    await withAttached(
      TABLES,
      (_, reader) => `CREATE SCHEMA wharf_imports AUTHORIZATION ${reader}; GRANT ALL ON SCHEMA wharf_imports TO PUBLIC;
        SET ROLE ${reader}; CREATE TABLE wharf_imports.committed (id uuid, attempt int, committed_at timestamptz, import jsonb);
        GRANT ALL ON wharf_imports.committed TO PUBLIC;
        CREATE FUNCTION wharf_imports.take() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN EXECUTE ''DROP TABLE public.part''; RETURN NEW; END';
        CREATE TRIGGER take BEFORE INSERT OR DELETE ON wharf_imports.committed EXECUTE FUNCTION wharf_imports.take(); RESET ROLE`,
      async (external) => {
        const archive = await exportOf(wharf.root, 'x')
        const dump = await dumpOf(external)
        const answer = await sendArchive(wharf.root, archive, { query: '?targetSlug=x' })
        const refused = { status: 409, json: { detail: expect.stringMatching(/wharf_imports/) } }
        expect(answer).toMatchObject(refused)
        expect(await dumpOf(external)).toEqual(dump)
        await query(external.database.superuserUrl, 'CREATE PUBLICATION sent FOR TABLE item')
        expect(await sendArchive(wharf.root, archive, { query: '?targetSlug=x' })).toMatchObject(refused)
        await eventually(() =>
          external.database.query(`SELECT mode FROM pg_locks WHERE relation = 'public.item'::regclass`),
        ).toEqual([])
      },
    )
  })

  test('is exported by a login that may only read as by its owner', async () => {
    await withAttached(
      TABLES,
      () => '',
      async (external) => {
        const lines = (archive: string): readonly string[] =>
          comparableLines(archive).filter((line) => !line.startsWith('{"stage":'))
        const owners = lines(await exportOf(wharf.root, 'x'))
        const change = await wharf.root.request('PUT', '/projects/x/attachment', {
          json: { address: external.reader.href },
        })
        expect(change.status, change.text).toBe(200)
        expect(lines(await exportOf(wharf.root, 'x'))).toEqual(owners)
      },
    )
  })

  test('of a schema that is made up at random comes back as it was', { timeout: 3_600_000 }, async () => {
    let taken = 0
    for (const script of fc.sample(generatedSchema, {
      seed: Number(process.env.SEED ?? 7),
      numRuns: isThorough ? 25 : 2,
    })) {
      const isTaken = await withAttached(
        script,
        () => '',
        async (external) => {
          const archive = await exportOf(wharf.root, 'x')
          expect(await assertComesBack(external, archive), script).not.toMatch(/refused/)
        },
      ).then(
        () => true,
        (error: unknown) => {
          // What PostgreSQL itself refuses is no schema.
          if (error instanceof Error && 'severity' in error) return false
          throw error
        },
      )
      if (isTaken) taken += 1
    }
    expect(taken).toBeGreaterThan(0)
  })
})
