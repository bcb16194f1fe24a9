import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createMigratedDatabase, type TestDatabase } from '../../support/database/database.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../../support/servers/own-cluster.ts'
import { query, withSession } from '../../support/servers/sessions.ts'
import { createProject, loginUrl } from '../../support/service/projects.ts'
import { createToken } from '../../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

const programs = installedPrograms()

/** The server that all tests share, and the system's own where it has one, which also has a `pg_dump` that fits. */
const SERVERS: readonly { server: string; own?: string }[] = [
  ...(programs === undefined || isThorough ? [{ server: 'the embedded PostgreSQL' }] : []),
  ...(programs === undefined ? [] : [{ server: `the PostgreSQL in ${programs}`, own: programs }]),
]

const run = randomUUID().slice(0, 8)
const [READER, WRITER] = [`reader "${run}"`, `writer-${run}`]
const quoted = (role: string): string => `"${role.replaceAll('"', '""')}"`

/** Rights on every kind of thing that a stage has: given, taken from everybody, and taken from the owner. */
const STRUCTURE = `
  CREATE TABLE artist (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, secret text);
  CREATE TABLE album (id serial PRIMARY KEY, artist integer REFERENCES artist) PARTITION BY RANGE (id);
  CREATE TABLE album_1 PARTITION OF album FOR VALUES FROM (0) TO (100);
  CREATE TYPE mood AS ENUM ('good');
  CREATE DOMAIN year AS integer CHECK (VALUE > 0);
  CREATE TYPE span AS RANGE (SUBTYPE = integer);
  CREATE VIEW names AS SELECT name FROM artist;
  CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM album;
  CREATE MATERIALIZED VIEW without_rights AS SELECT count(*) FROM album;
  CREATE FUNCTION shout(text, OUT loud text) LANGUAGE sql AS 'SELECT upper($1)';
  CREATE FUNCTION shout(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1';
  CREATE PROCEDURE nothing(INOUT n integer) LANGUAGE sql AS 'SELECT 1';
  CREATE AGGREGATE total(integer) (SFUNC = int4pl, STYPE = integer);
  CREATE AGGREGATE middle(ORDER BY float8) (SFUNC = float8_accum, STYPE = float8[], INITCOND = '{0,0,0}');
  INSERT INTO artist (name) VALUES ('Accept');`
const RIGHTS = `
  GRANT SELECT (id, name), UPDATE (name) ON artist TO ${quoted(READER)};
  GRANT INSERT ON artist TO ${quoted(WRITER)} WITH GRANT OPTION;
  GRANT SELECT (name) ON artist TO PUBLIC;
  GRANT ALL ON album, album_id_seq TO ${quoted(WRITER)};
  GRANT SELECT ON album TO ${quoted(READER)};
  GRANT SELECT ON names, counted TO ${quoted(READER)} WITH GRANT OPTION;
  GRANT SELECT, UPDATE ON names TO ${quoted(WRITER)};
  GRANT USAGE ON SEQUENCE artist_id_seq TO PUBLIC;
  REVOKE UPDATE ON album_1 FROM CURRENT_USER;
  REVOKE ALL ON FUNCTION shout(integer) FROM CURRENT_USER, PUBLIC;
  REVOKE EXECUTE ON FUNCTION shout(text), total(integer) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION shout(text) TO ${quoted(READER)};
  GRANT EXECUTE ON FUNCTION middle(float8) TO ${quoted(READER)};
  REVOKE EXECUTE ON PROCEDURE nothing(integer) FROM PUBLIC;
  GRANT EXECUTE ON PROCEDURE nothing(integer) TO ${quoted(WRITER)} WITH GRANT OPTION;
  REVOKE USAGE ON TYPE mood FROM PUBLIC;
  GRANT USAGE ON TYPE mood, span, artist TO ${quoted(READER)};
  GRANT USAGE ON DOMAIN year TO ${quoted(WRITER)} WITH GRANT OPTION;`
const ON_SCHEMA = `
  GRANT USAGE ON SCHEMA $SCHEMA TO ${quoted(READER)} WITH GRANT OPTION;
  GRANT USAGE, CREATE ON SCHEMA $SCHEMA TO ${quoted(WRITER)};
  ALTER DEFAULT PRIVILEGES IN SCHEMA $SCHEMA GRANT SELECT ON TABLES TO ${quoted(READER)} WITH GRANT OPTION;
  ALTER DEFAULT PRIVILEGES IN SCHEMA $SCHEMA GRANT SELECT, INSERT ON TABLES TO ${quoted(WRITER)};
  ALTER DEFAULT PRIVILEGES IN SCHEMA $SCHEMA GRANT USAGE ON SEQUENCES TO PUBLIC;
  ALTER DEFAULT PRIVILEGES IN SCHEMA $SCHEMA GRANT EXECUTE ON FUNCTIONS TO ${quoted(READER)};
  ALTER DEFAULT PRIVILEGES IN SCHEMA $SCHEMA GRANT USAGE ON TYPES TO ${quoted(READER)};`

/** All rights in a schema, in PostgreSQL's words: those of the owner under one name, and what nobody changed left out. */
const RIGHTS_SQL = `
  WITH acl AS (
    SELECT 'schema' AS what, nspacl AS acl, acldefault('n', nspowner) AS usual, nspowner AS owner
      FROM pg_namespace WHERE nspname = $1
    UNION ALL SELECT 'relation ' || relname, relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner), relowner
      FROM pg_class WHERE relnamespace = quote_ident($1)::regnamespace
    UNION ALL SELECT 'column ' || relname || '.' || attname, attacl, '{}', relowner
      FROM pg_attribute JOIN pg_class c ON c.oid = attrelid AND attacl IS NOT NULL WHERE relnamespace = quote_ident($1)::regnamespace
    UNION ALL SELECT 'function ' || proname || pg_get_function_identity_arguments(oid), proacl, acldefault('f', proowner), proowner
      FROM pg_proc WHERE pronamespace = quote_ident($1)::regnamespace
    UNION ALL SELECT 'type ' || typname, typacl, acldefault('T', typowner), typowner
      FROM pg_type WHERE typnamespace = quote_ident($1)::regnamespace
    UNION ALL SELECT 'new ' || defaclobjtype::text, defaclacl, '{}', defaclrole
      FROM pg_default_acl WHERE defaclnamespace = quote_ident($1)::regnamespace)
  SELECT what, ARRAY(
      SELECT concat_ws(' ', CASE grantee WHEN owner THEN 'owner' WHEN 0 THEN 'public' ELSE pg_get_userbyid(grantee) END,
                       privilege_type, is_grantable, CASE WHEN grantor <> owner THEN 'by another' END)
        FROM aclexplode(COALESCE(acl, usual)) ORDER BY 1) AS rights
    FROM acl WHERE NOT (COALESCE(acl, usual) @> usual AND COALESCE(acl, usual) <@ usual) ORDER BY what`

describe.each(SERVERS)('on $server', ({ own }) => {
  let cluster: OwnCluster | undefined
  let database: TestDatabase
  let wharf: TestWharf

  beforeAll(async () => {
    cluster = own === undefined ? undefined : await startOwnCluster(own)
    database = await (cluster?.createDatabase() ?? createMigratedDatabase())
    wharf = await startWharf({ database })
    for (const role of [READER, WRITER]) await query(database.superuserUrl, `CREATE ROLE ${quoted(role)}`)
  })

  afterAll(async () => {
    for (const role of [READER, WRITER]) {
      await query(database.superuserUrl, `DROP OWNED BY ${quoted(role)}; DROP ROLE ${quoted(role)}`)
    }
    await wharf?.close()
    await cluster?.remove()
  })

  const rightsIn = (schema: string) => query<{ what: string }>(database.superuserUrl, RIGHTS_SQL, [schema])

  /** A stage as `pg_dump` has it, where it is installed. */
  async function dumpOf(slug: string): Promise<readonly string[]> {
    const text = (await cluster?.dump(database, `${slug}.live`)) ?? ''
    return text.split('\n').filter((line) => !/^\\(un)?restrict /.test(line))
  }

  const asLogin = async (slug: string, statements: string): Promise<void> => {
    await query((await loginUrl(wharf, slug)).href, statements.replaceAll('$SCHEMA', `"${slug}.live"`))
  }

  const imported = (mode: string) => ({
    status: 200,
    json: { projects: [{ stages: [expect.objectContaining({ slug: 'live', mode })] }] },
  })

  test('an import builds beside, and leaves every right as it was, with an undo that does, too', async () => {
    await createProject(wharf, 'granted', STRUCTURE + RIGHTS)
    await asLogin('granted', ON_SCHEMA)
    const [archive, dump, rights] = [
      await exportOf(wharf.root, 'granted'),
      await dumpOf('granted'),
      await rightsIn('granted.live'),
    ]
    expect(rights.length).toBeGreaterThan(20)
    expect(await sendArchive(wharf.root, archive, { query: '?dryRun=true' })).toMatchObject(imported('swap'))
    for (const time of ['first', 'second']) {
      const answer = await sendArchive(wharf.root, archive)
      expect(answer, answer.text).toMatchObject({ status: 200, json: { projects: [{ stages: [{ undoable: true }] }] } })
      expect(await rightsIn('granted.live'), time).toEqual(rights)
      expect(await dumpOf('granted')).toEqual(dump)
      expect(comparableLines(await exportOf(wharf.root, 'granted'))).toEqual(comparableLines(archive))
    }
    const undo = () => wharf.root.post('/projects/granted/stages/live/undo')
    await asLogin('granted', 'GRANT USAGE ON SCHEMA $SCHEMA TO PUBLIC')
    expect(await undo()).toMatchObject({ status: 409, text: expect.stringContaining('written to since') })
    await asLogin('granted', 'REVOKE USAGE ON SCHEMA $SCHEMA FROM PUBLIC')
    expect(await undo()).toMatchObject({ status: 200 })
    expect(await rightsIn('granted.live')).toEqual(rights)
    expect(await dumpOf('granted')).toEqual(dump)
  })

  test('an empty stage keeps the rights on its schema, and what is built there gets those of what is new', async () => {
    await createProject(
      wharf,
      'plain',
      'CREATE TABLE t (n integer); CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$SELECT 1$$',
    )
    const archive = await exportOf(wharf.root, 'plain')
    await createProject(wharf, 'empty')
    await asLogin('empty', ON_SCHEMA)
    await createProject(wharf, 'made')
    await asLogin(
      'made',
      `${ON_SCHEMA} SET search_path = $SCHEMA; CREATE TABLE t (n integer);
      CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$SELECT 1$$`,
    )
    expect(await sendArchive(wharf.root, archive, { query: '?targetSlug=empty&dryRun=true' })).toMatchObject(
      imported('build'),
    )
    expect(await sendArchive(wharf.root, archive, { query: '?targetSlug=empty' })).toMatchObject({ status: 200 })
    expect(await rightsIn('empty.live')).toEqual(await rightsIn('made.live'))
  })

  test('what later tables get by the rules of the login does not come to those that were there before', async () => {
    await createProject(wharf, 'ruled', 'CREATE TABLE t (n integer)')
    const archive = await exportOf(wharf.root, 'ruled')
    await asLogin('ruled', `ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC`)
    expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    expect(await rightsIn('ruled.live')).toEqual([])
  })

  const withGrants = (slug: string) => exportOf(wharf.root, slug, { grants: true })

  test('an archive has the rights where they are asked for, and brings them anywhere', async () => {
    await createProject(wharf, 'rights', STRUCTURE + RIGHTS)
    await asLogin('rights', ON_SCHEMA)
    const archive = await withGrants('rights')
    expect(archive).toContain('"complete":true,"grants":true')
    const [lines, rights] = [comparableLines(archive), await rightsIn('rights.live')]
    await createProject(wharf, 'brought')
    await createProject(wharf, 'replaced', STRUCTURE)
    await asLogin(
      'replaced',
      `GRANT ALL ON $SCHEMA.artist TO PUBLIC; GRANT CREATE ON SCHEMA $SCHEMA TO PUBLIC;
      ALTER DEFAULT PRIVILEGES IN SCHEMA $SCHEMA GRANT INSERT ON TABLES TO PUBLIC`,
    )
    for (const slug of ['brought', 'replaced', 'brought']) {
      const query = `?targetSlug=${slug}`
      const dry = await sendArchive(wharf.root, archive, { query: `${query}&dryRun=true` })
      expect(dry, dry.text).toMatchObject({ status: 200, json: { projects: [{ stages: [{ leftOut: [] }] }] } })
      const answer = await sendArchive(wharf.root, archive, { query })
      expect(answer, answer.text).toMatchObject({ status: 200, json: { projects: [{ stages: [{ leftOut: [] }] }] } })
      expect(await rightsIn(`${slug}.live`)).toEqual(rights)
      expect(comparableLines(await withGrants(slug))).toEqual(lines)
    }
    const none = await exportOf(wharf.root, 'plain', { grants: true })
    expect(await sendArchive(wharf.root, none, { query: '?targetSlug=empty' })).toMatchObject({ status: 200 })
    expect(await rightsIn('empty.live')).toEqual([])
  })

  test('rights for roles that are not there, and for logins of Wharf, are named and not given', async () => {
    await createProject(wharf, 'victim')
    const victim = (await loginUrl(wharf, 'victim')).username
    await createProject(wharf, 'giver', 'CREATE TABLE t (n integer)')
    await asLogin('giver', `GRANT SELECT ON $SCHEMA.t TO ${quoted(READER)}; GRANT INSERT ON $SCHEMA.t TO ${victim}`)
    const honest = await withGrants('giver')
    expect(honest).not.toContain(`"role":"${victim}"`)
    expect(honest).toContain(`INSERT to ${victim}: it is a login of Wharf`)
    const { rows } = await withSession(wharf.database.url, (session) => session.query('SELECT current_user AS name'))
    await createProject(wharf, 'given')
    for (const role of ['nobody at all', victim, rows[0]?.name]) {
      const archive = honest.replaceAll(JSON.stringify({ role: READER }), JSON.stringify({ role }))
      expect(archive).not.toBe(honest)
      const leftOut = [{ kind: 'grant', name: 't', detail: expect.stringContaining(`SELECT to ${role}: `) }]
      for (const query of ['?targetSlug=given&dryRun=true', '?targetSlug=given']) {
        const answer = await sendArchive(wharf.root, archive, { query })
        expect(answer, answer.text).toMatchObject({ status: 200, json: { projects: [{ stages: [{ leftOut }] }] } })
      }
      expect(await rightsIn('given.live')).toEqual([])
    }
  })

  test('an archive gives nothing but rights, to roles that there are', async () => {
    const archive = await withGrants('giver')
    const line = archive.split('\n').find((each) => each.startsWith('{"grants":')) ?? ''
    expect(line).not.toBe('')
    const replaced = async (by: string) =>
      sendArchive(wharf.root, archive.replace(line, by), { query: '?targetSlug=hostile' })
    await createProject(wharf, 'hostile')
    const evil = 'x"; CREATE TABLE canary (); --'
    const names = [...['CURRENT_USER', 'PUBLIC', 'public', evil, "x'", 'a\u0000b', '\ud800']]
    for (const role of names) {
      const answer = await replaced(line.replace(/\{"role":"(?:[^"\\]|\\.)*"\}/, () => JSON.stringify({ role })))
      expect([200, 400], answer.text).toContain(answer.status)
      expect(await rightsIn('hostile.live'), role).toEqual([])
    }
    const grants = [{ to: { role: READER }, privileges: ['SELECT'] }]
    for (const content of [
      { object: 'table', name: 'pg_class', grants },
      { object: 'table', name: '"giver.live".t', grants },
      { object: 'table', name: 't', column: `n) ON t TO PUBLIC; --`, grants },
      { object: 'function', name: 'f', arguments: '); CREATE TABLE canary (', grants: [] },
    ]) {
      const answer = await replaced(JSON.stringify({ grants: content }))
      expect(answer, answer.text).toMatchObject({
        status: 200,
        json: {
          projects: [{ stages: [{ leftOut: [{ kind: 'grant', detail: expect.stringContaining('no such') }] }] }],
        },
      })
      expect(await rightsIn('hostile.live')).toEqual([])
    }
    expect(await replaced(`${line}\n${line}`)).toMatchObject({ status: 400 })
    expect(await sendArchive(wharf.root, archive.replace(',"grants":true', ''))).toMatchObject({ status: 400 })
    expect(await query(database.superuserUrl, `SELECT FROM pg_class WHERE relname = 'canary'`)).toEqual([])
  })

  test('an archive with rights needs content.structure, whatever it replaces', async () => {
    const archive = await withGrants('giver')
    await wharf.root.put('/projects/giver/roles/importer', { json: { content: { import: true, export: true } } })
    const { client: importer } = await createToken(wharf, 'importer', 'giver')
    for (const query of ['?dryRun=true', '']) {
      const answer = await sendArchive(importer, archive, { query })
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('content.structure') })
    }
    expect(await sendArchive(importer, await exportOf(wharf.root, 'giver'))).toMatchObject({ status: 200 })
  })

  test('policies for some roles come back, and none is ever for everybody', async () => {
    await createProject(
      wharf,
      'guarded',
      `CREATE TABLE t (n integer); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
      CREATE POLICY "for one" ON t TO ${quoted(READER)} USING (n > 0);
      CREATE POLICY two ON t AS RESTRICTIVE FOR SELECT TO ${quoted(WRITER)}, ${quoted(READER)}, CURRENT_USER USING (n > 1);
      CREATE POLICY everybody ON t FOR SELECT USING (true); INSERT INTO t VALUES (1), (2)`,
    )
    const policies = (schema: string) =>
      database.query(
        `SELECT policyname, permissive, (SELECT json_agg(role ORDER BY role) FROM unnest(array_replace(roles, tableowner, 'owner')) role) AS roles, cmd, qual
           FROM pg_policies JOIN pg_tables USING (schemaname, tablename) WHERE schemaname = $1 ORDER BY 1`,
        [schema],
      )
    const [archive, dump, found] = [
      await exportOf(wharf.root, 'guarded'),
      await dumpOf('guarded'),
      await policies('guarded.live'),
    ]
    expect(archive).toContain('"complete":true')
    expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    expect([await policies('guarded.live'), await dumpOf('guarded')]).toEqual([found, dump])
    await createProject(wharf, 'elsewhere')
    expect(await sendArchive(wharf.root, archive, { query: '?targetSlug=elsewhere' })).toMatchObject({ status: 200 })
    expect(await policies('elsewhere.live')).toEqual(found)

    await createProject(wharf, 'without')
    const unknown = archive.replaceAll(JSON.stringify({ role: READER }), '{"role":"gone"}')
    const leftOut = [
      { kind: 'policy', name: 't.for one', detail: 'it is for gone: there is no such role' },
      { kind: 'policy', name: 't.two', detail: 'it is for gone: there is no such role' },
    ]
    for (const query of ['?targetSlug=without&dryRun=true', '?targetSlug=without']) {
      const answer = await sendArchive(wharf.root, unknown, { query })
      expect(answer, answer.text).toMatchObject({ status: 200, json: { projects: [{ stages: [{ leftOut }] }] } })
    }
    expect(await policies('without.live')).toMatchObject([
      { policyname: 'everybody', roles: ['public'] },
      { policyname: 'two', roles: ['owner', WRITER] },
    ])
  })

  test('rights that the owner could not grant again keep a stage in place', async () => {
    await createProject(wharf, 'passed-on', 'CREATE TABLE t (n integer)')
    const archive = await exportOf(wharf.root, 'passed-on')
    await asLogin(
      'passed-on',
      `GRANT USAGE ON SCHEMA $SCHEMA TO ${quoted(READER)};
      GRANT SELECT ON $SCHEMA.t TO ${quoted(READER)} WITH GRANT OPTION`,
    )
    await withSession(database.superuserUrl, async (session) => {
      await session.query(`SET ROLE ${quoted(READER)}`)
      await session.query(`GRANT SELECT ON "passed-on.live".t TO ${quoted(WRITER)}`)
    })
    const rights = await rightsIn('passed-on.live')
    expect(await sendArchive(wharf.root, archive, { query: '?dryRun=true' })).toMatchObject(imported('in place'))
    expect(await sendArchive(wharf.root, archive)).toMatchObject({ status: 200 })
    expect(await rightsIn('passed-on.live')).toEqual(rights)
    expect(await exportOf(wharf.root, 'passed-on')).toContain(
      `SELECT to ${WRITER}, granted by ${READER.replaceAll('"', '\\"')}`,
    )
  })

  test('a table of another role is named, and not replaced by one of the project', async () => {
    await createProject(wharf, 'others', 'CREATE TABLE t (n integer)')
    const archive = await exportOf(wharf.root, 'others')
    await query(database.superuserUrl, `ALTER TABLE "others.live".t OWNER TO ${quoted(WRITER)}`)
    const answer = await sendArchive(wharf.root, archive, { query: '?dryRun=true' })
    expect(answer).toMatchObject({ status: 409, text: expect.stringContaining(`belongs to ${WRITER}`) })
  })
})
