import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { logStages } from '../../src/events/log-stages.ts'
import { comparableLines, exportOf, sendArchive } from '../support/archives/import.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import type { ApiClient } from '../support/http/api-client.ts'
import { runWhenDue, type SeenSchedule } from '../support/jobs/schedules.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { RELEASED_SECRET_KEY, RELEASED_TOKENS, restoreReleasedDatabase } from './released-service.ts'

const programs = installedPrograms()

describe('on the embedded PostgreSQL', () => describeUpgrade(createTestDatabase))

if (programs !== undefined) {
  describe(`on the PostgreSQL of ${programs}`, () => {
    let cluster: OwnCluster | undefined
    afterAll(() => cluster?.remove())
    describeUpgrade(async () => {
      cluster = await startOwnCluster(programs)
      return cluster.createDatabase()
    })
  })
}

/** What this version does with a database that the first release has left. The tests go on from one another. */
function describeUpgrade(createDatabase: () => Promise<TestDatabase>): void {
  let wharf: TestWharf
  let admin: ApiClient
  let editor: ApiClient
  let importer: ApiClient
  let sealedBefore: unknown[]

  const sealed = () => wharf.database.query('SELECT slug, sealed_password FROM control.project ORDER BY slug')

  beforeAll(async () => {
    const database = await createDatabase()
    await restoreReleasedDatabase(database)
    // Triggers that the first release took for its own, and that log nothing.
    await withSession(database.superuserUrl, (session) =>
      session.query(`
        SET ROLE wharf_released_plain;
        DROP TRIGGER wharf_create ON "plain.live".note;
        CREATE TRIGGER wharf_create AFTER INSERT ON "plain.live".note REFERENCING NEW TABLE AS wharf_changed
          FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION wharf.log_statement()`),
    )
    sealedBefore = await database.query('SELECT slug, sealed_password FROM control.project ORDER BY slug')
    wharf = await startWharf({
      database,
      worker: true,
      environment: { WHARF_SECRET_KEY: RELEASED_SECRET_KEY, WHARF_TRANSFER_HOSTS: '127.0.0.1' },
    })
    await logStages(wharf.container)
    admin = wharf.root.withToken(RELEASED_TOKENS.admin)
    editor = wharf.root.withToken(RELEASED_TOKENS.editor)
    importer = wharf.root.withToken(RELEASED_TOKENS.importer)
  })

  afterAll(async () => {
    for (const slug of ['shop', 'copy', 'plain', 'new']) await wharf.root.delete(`/projects/${slug}`)
    await wharf.close()
  })

  test('the roles that could build a stage may change structure, and no others', async () => {
    const roles = await wharf.database.query(
      `SELECT role.name FROM control.role JOIN control.project p ON p.id = project_id
       WHERE slug = 'shop' AND content_structure ORDER BY 1`,
    )
    expect(roles).toEqual([{ name: 'admin' }, { name: 'content_admin' }])
    const script = { headers: { 'content-type': 'application/sql' }, body: 'ALTER TABLE album ADD COLUMN year integer' }
    expect(await importer.post('/projects/shop/stages/live/schema', script)).toMatchObject({ status: 403 })
    expect(await admin.post('/projects/shop/stages/live/schema', script)).toMatchObject({ status: 200 })
  })

  test('rows are read and written with the tokens that there were', async () => {
    expect(await admin.get('/content/shop/live/titles')).toMatchObject({ json: [{ title: 'Live', name: 'Ella' }] })
    expect(await editor.post('/content/shop/live/artist', { json: { name: 'John' } })).toMatchObject({ status: 201 })
    expect(await editor.get('/content/shop/live/artist?select=name&order=id')).toMatchObject({
      json: [{ name: 'Ella' }, { name: 'Miles' }, { name: 'Nina' }, { name: 'John' }],
    })
  })

  test('the logins of projects may do what those of new projects may', async () => {
    await createProject(wharf, 'new')
    const { username } = await loginUrl(wharf, 'new')
    const granted = (login: string) =>
      wharf.database.query(
        `SELECT proname AS name, privilege_type AS privilege FROM pg_proc, aclexplode(proacl)
         WHERE pronamespace = 'wharf'::regnamespace AND grantee = $1::regrole
         UNION ALL
         SELECT nspname, privilege_type FROM pg_namespace, aclexplode(nspacl)
         WHERE grantee = $1::regrole AND nspname = 'wharf'
         UNION ALL
         SELECT 'limit', rolconnlimit::text FROM pg_roles WHERE oid = $1::regrole ORDER BY 1, 2`,
        [login],
      )
    const expected = await granted(username)
    expect(expected).toContainEqual({ name: 'log_rows', privilege: 'EXECUTE' })
    for (const slug of ['shop', 'copy', 'plain']) expect(await granted(`wharf_released_${slug}`)).toEqual(expected)
  })

  test('every table is logged, also where a trigger was one that logs nothing', async () => {
    const states = await wharf.database.query<{ name: string }>('SELECT schema_name AS name FROM system.stage_state')
    expect(states).toHaveLength(4)
    for (const { name } of states) {
      expect(await wharf.database.query('SELECT FROM wharf.unlogged_tables($1)', [name])).toEqual([])
    }
    const { href } = await loginUrl(wharf, 'plain')
    await withSession(href, (session) => session.query(`INSERT INTO "plain.live".note VALUES (2, 'two')`))
    const events = await wharf.database.query(
      `SELECT kind, rows FROM system.event JOIN system.stage_state USING (stage_id)
       WHERE schema_name = 'plain.live' ORDER BY ordinal DESC LIMIT 1`,
    )
    expect(events).toEqual([{ kind: 'create', rows: [{ id: 2, text: 'two' }] }])
  })

  test('an import from before is undone', async () => {
    expect(await wharf.root.get('/content/copy/live/artist?select=name')).toMatchObject({
      json: [{ name: 'imported' }],
    })
    const undone = await wharf.root.post('/projects/copy/stages/live/undo')
    expect(undone.status, undone.text).toBe(200)
    expect(await wharf.root.get('/content/copy/live/artist?select=name')).toMatchObject({ json: [{ name: 'before' }] })
  })

  test('a project is exported with its log, and imported into another', async () => {
    const archive = await exportOf(wharf.root, 'plain', { system: true })
    expect(archive).toContain('"event"')
    const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=new' })
    expect(imported.status, imported.text).toBe(200)
    const rows = (text: string) => comparableLines(text).filter((line) => line.startsWith('['))
    expect(rows(await exportOf(wharf.root, 'new'))).toEqual(rows(await exportOf(wharf.root, 'plain')))
    expect(await wharf.root.get('/content/new/live/note?select=id')).toMatchObject({ json: [{ id: 1 }, { id: 2 }] })
  })

  test('rows are imported where there is structure by who may not build any', async () => {
    const archive = await exportOf(importer, 'shop')
    await editor.post('/content/shop/live/artist', { json: { name: 'gone again' } })
    const imported = await sendArchive(importer, archive, { query: '?targetSlug=shop' })
    expect(imported.status, imported.text).toBe(200)
    expect(await editor.get('/content/shop/live/artist?name=eq.gone%20again')).toMatchObject({ json: [] })
  })

  test('a schedule runs in the name of its author', async () => {
    const { json } = await admin.get('/schedules')
    const schedules = (json as { items?: SeenSchedule[] }).items ?? []
    const [schedule] = schedules.filter(({ nextRunAt }) => nextRunAt !== null)
    if (!schedule) throw new Error('the schedule is gone')
    expect((await runWhenDue(wharf, schedule)).lastRun).toMatchObject({ status: 'succeeded' })
  })

  test('secrets are sealed again in the newest form', async () => {
    const now = await sealed()
    for (const before of sealedBefore) expect(now).not.toContainEqual(before)
    const [transfer] = await wharf.database.query<{ sealed: Buffer }>(
      `SELECT sealed_secrets AS sealed FROM control.schedule WHERE name = 'copy away'`,
    )
    expect(transfer?.sealed.subarray(0, 4).toString('hex')).not.toBe('7ab5831e')
  })

  test('scripts of root change a stage that was there', async () => {
    const answer = await applyScript(wharf, 'plain', 'CREATE TABLE later (id integer PRIMARY KEY)')
    expect(answer.status, answer.text).toBe(200)
    expect(await wharf.root.post('/content/plain/live/later', { json: { id: 1 } })).toMatchObject({ status: 201 })
  })
}
