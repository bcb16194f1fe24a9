import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findProject } from '../../../src/projects/projects.ts'
import { findStage } from '../../../src/projects/stages.ts'
import { sweepShadowSchemas } from '../../../src/transfer/import/shadow-schemas.ts'
import { undoImport } from '../../../src/transfer/import/undo.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { readObjects, readState } from '../../support/database/database-state.ts'
import { eventually } from '../../support/eventually.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import type { PlacedProject } from '../../support/service/location.ts'
import { ATTACHED_LOCATIONS, SHARED_LOCATION, someLocations } from '../../support/service/locations.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough, someOf } from '../../support/thorough.ts'

const TABLES = `
  CREATE TABLE artist (id serial PRIMARY KEY, name text UNIQUE);
  CREATE TABLE album (id integer PRIMARY KEY, artist_id integer REFERENCES artist);
  CREATE TABLE nothing (n regclass);`

/** What is exchanged only with its schema: where that stays, what has such a type is loaded in place. */
const SPAN = 'CREATE TYPE span AS RANGE (SUBTYPE = float8);'

/** What can have happened to a stage since an import, and would be lost. */
const CHANGES: Readonly<Record<string, string>> = {
  'a row was added': `INSERT INTO "$".nothing VALUES (1)`,
  'a row was changed': `UPDATE "$".artist SET name = name WHERE id = 1`,
  'a row was deleted': 'DELETE FROM "$".album',
  'a row was deleted and another added': `WITH gone AS (DELETE FROM "$".album) INSERT INTO "$".nothing VALUES (1)`,
  'a table was emptied': 'TRUNCATE "$".album',
  'a table was added': 'CREATE TABLE "$".more (n integer)',
  'a table was dropped': 'DROP TABLE "$".nothing',
  'a column was added': 'ALTER TABLE "$".nothing ADD m integer',
  'an index was added': 'CREATE INDEX ON "$".nothing (n)',
  'a view was added': 'CREATE VIEW "$".v AS SELECT 1 AS n',
  'a function was added': `CREATE FUNCTION "$".f() RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
}

/** Those that change what an import replaces here, too: there is no album to delete. */
const CHANGES_OF_OLD = Object.entries(CHANGES).filter(([what]) => what !== 'a row was deleted')

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: MAY_ATTACH })
})

afterAll(() => wharf.close())

/** Where what an import replaces is kept. */
const KEEPING = ATTACHED_LOCATIONS.filter(({ isOwned }) => isOwned)

const undo = ({ slug }: Pick<PlacedProject, 'slug'>, query = '') =>
  wharf.root.post(`/projects/${slug}/stages/live/undo${query}`)

const contents = async ({ slug }: Pick<PlacedProject, 'slug'>): Promise<string[]> =>
  comparableLines(await exportOf(wharf.root, slug, { stages: ['live'] }))

/** What is kept beside the stage `live`, as Wharf knows it, for the end of a statement. */
const keptOf = ({ slug }: PlacedProject): string =>
  `stage_id = (SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id
                WHERE project.slug = '${slug}' AND stage.slug = 'live')`

describe.each(someLocations(0, KEEPING))('$name', (location) => {
  let archive: string
  /** Of the stage `live`. */
  let expected: readonly string[]
  let source: PlacedProject
  const made: PlacedProject[] = []
  /** Unless tests are thorough, those that hardly depend on where a project is are run in Wharf's database alone. */
  const testUsually = test.runIf(!location.isAttached || isThorough)
  /** In an attached database it is not looked whether somebody wrote since, so that an undo always has to be forced. */
  const unwritten = location.isAttached ? '?force=true' : ''

  const tables = location.staysInSchema ? TABLES : TABLES + SPAN

  beforeAll(async () => {
    source = await location.createProject(wharf, 'source', {
      script: `${tables} INSERT INTO artist (name) VALUES ('new'), ('newer'); INSERT INTO album VALUES (1, 1)`,
    })
    archive = await exportOf(wharf.root, 'source')
    expected = await contents(source)
  })

  afterAll(async () => {
    for (const project of [source, ...made]) await project?.remove()
  })

  async function projectWith(rows: string): Promise<PlacedProject> {
    const project = await location.createProject(wharf, `p${made.length}`, { script: `${tables} ${rows}` })
    made.push(project)
    return project
  }

  /** A project whose rows an import has replaced. */
  async function imported(): Promise<PlacedProject> {
    const project = await projectWith(`INSERT INTO artist (name) VALUES ('old')`)
    const answer = await sendArchive(wharf.root, archive, { query: `?targetSlug=${project.slug}` })
    expect(answer, answer.text).toMatchObject({ status: 200 })
    return project
  }

  const artists = ({ database, schema }: PlacedProject): Promise<unknown[]> =>
    database.query(`SELECT name FROM "${schema}".artist ORDER BY id`)

  test('an undo gives back exactly what was there, and says what', async () => {
    const project = await projectWith(
      `INSERT INTO artist (name) VALUES ('old'), ('older'); INSERT INTO album VALUES (7, 2)`,
    )
    const stage = `nspname = '${project.schema}'`
    const before = await contents(project)
    const state = await readObjects(project.database, stage)
    await sendArchive(wharf.root, archive, { query: `?targetSlug=${project.slug}` })
    expect(await contents(project)).toEqual(expected)

    const answer = await undo(project, unwritten)
    expect(answer.json, answer.text).toMatchObject({
      ok: true,
      replacedAt: expect.any(String),
      tables: [
        { name: 'album', rows: 1 },
        { name: 'artist', rows: 2 },
        { name: 'nothing', rows: 0 },
      ],
    })
    expect(await contents(project)).toEqual(before)
    const after = await readObjects(project.database, stage)
    // All but the schema itself, which has another number.
    expect({ ...after, schemas: '' }).toEqual({ ...state, schemas: '' })
  })

  testUsually.each([1990, 2100])(
    "what is kept is kept by the database's clock, also by a process in %i",
    async (year) => {
      vi.useFakeTimers({ toFake: ['Date'], now: new Date(`${year}-01-01`) })
      try {
        const project = await imported()
        await sweepShadowSchemas(wharf.container, wharf.container.logger)
        const kept = `SELECT expires_at BETWEEN now() + interval '23 hours' AND now() + interval '24 hours' AS a_day
                      FROM system.side_schema WHERE ${keptOf(project)}`
        expect(await wharf.database.query(kept)).toEqual([{ a_day: true }])
        expect(await undo(project, unwritten)).toMatchObject({ status: 200 })
      } finally {
        vi.useRealTimers()
      }
    },
  )

  test('an undo can be undone, and so can that', async () => {
    const project = await imported()
    for (const names of [['old'], ['new', 'newer'], ['old']]) {
      expect(await undo(project, unwritten)).toMatchObject({ status: 200 })
      expect(await artists(project)).toEqual(names.map((name) => ({ name })))
    }
  })

  test('what an undo replaced is kept as long as what an import did', async () => {
    const project = await imported()
    const path = `/projects/${project.slug}/stages/live/undo`
    const hoursLeft = async (): Promise<number> => {
      const { kept } = (await wharf.root.get(path)).json as { readonly kept: { readonly until: string } | null }
      return (Date.parse(kept?.until ?? '') - Date.now()) / 3_600_000
    }
    await wharf.database.query(
      `UPDATE system.side_schema SET expires_at = now() + interval '1 minute' FROM control.stage
        WHERE stage.id = stage_id AND kind = 'kept' AND project_id = (SELECT id FROM control.project WHERE slug = $1)`,
      [project.slug],
    )
    expect(await hoursLeft()).toBeLessThan(1)
    expect(await undo(project, unwritten)).toMatchObject({ status: 200 })
    expect(await hoursLeft()).toBeGreaterThan(23)
  })

  testUsually.each(someOf(CHANGES_OF_OLD, 4))('the undo of an undo asks where, since that, %s', async (_, sql) => {
    const project = await imported()
    expect(await undo(project, unwritten)).toMatchObject({ status: 200 })
    await project.database.query(sql.replaceAll('$', project.schema))
    expect(await undo(project)).toMatchObject({ status: 409, json: { type: 'urn:wharf:error:written-since' } })
    expect(await undo(project, '?force=true')).toMatchObject({ status: 200 })
    expect(await contents(project)).toEqual(expected)
  })

  testUsually('only the last import can be undone', async () => {
    const project = await imported()
    await sendArchive(wharf.root, archive.replace('"newer"', '"newest"'), {
      query: `?targetSlug=${project.slug}&allowEdited=true`,
    })
    await undo(project, unwritten)
    expect(await contents(project)).toEqual(expected)
  })

  test.each(someOf(Object.entries(CHANGES), location.isAttached ? 6 : 3))(
    'an undo asks where, since the import, %s',
    async (_, sql) => {
      const project = await imported()
      await project.database.query(sql.replaceAll('$', project.schema))
      const state = async () => [await readState(wharf.database), await readObjects(project.database)]
      const before = await state()
      expect(await undo(project)).toMatchObject({ status: 409, json: { type: 'urn:wharf:error:written-since' } })
      expect(await state()).toEqual(before)
      expect(await undo(project, '?force=true')).toMatchObject({ status: 200 })
      expect(await artists(project)).toEqual([{ name: 'old' }])
    },
  )

  testUsually('without an import, or too long after it, there is nothing to undo', async () => {
    const nothing = { status: 409, text: expect.stringContaining('nothing to undo') }
    expect(await undo(source)).toMatchObject(nothing)
    const project = await imported()
    await wharf.database.query(
      `UPDATE system.side_schema SET expires_at = now() - interval '1 second' WHERE ${keptOf(project)}`,
    )
    expect(await undo(project, '?force=true')).toMatchObject(nothing)
    expect(await contents(project)).toEqual(expected)
  })

  testUsually('where nothing is to be kept, nothing is', async () => {
    const other = await startWharf({ environment: { ...MAY_ATTACH, WHARF_UNDO_HOURS: '0' } })
    const project = await location.createProject(other, 'source', {
      script: `${tables} INSERT INTO artist (name) VALUES ('old')`,
    })
    expect(await sendArchive(other.root, archive)).toMatchObject({ status: 200 })
    expect(await other.root.post('/projects/source/stages/live/undo?force=true')).toMatchObject({ status: 409 })
    // What PostgreSQL itself looks at just then (autovacuum) goes with the next sweep.
    await sweepShadowSchemas(other.container, other.container.logger)
    expect(await keptIn(project)).toEqual([])
    await project.remove()
    await other.close()
  })

  testUsually.each([
    ['admin', 200],
    ['viewer', 403],
    ['editor', 403],
  ])('%s may undo or not: %i', async (role, status) => {
    const { slug } = await imported()
    const client = await wharf.member(slug, role)
    const answer = await client.post(`/projects/${slug}/stages/live/undo${unwritten}`)
    expect(answer).toMatchObject({ status })
    if (status === 403) expect(answer.text).toContain('content.import')
  })

  testUsually('the undo of a stage that is not there, or of a project one is no member of, finds nothing', async () => {
    expect(await wharf.root.post('/projects/source/stages/none/undo')).toMatchObject({ status: 404 })
    const outsider = await wharf.member('source', 'admin')
    const { slug } = await imported()
    expect(await outsider.post(`/projects/${slug}/stages/live/undo${unwritten}`)).toMatchObject({ status: 404 })
  })

  testUsually('two undos at once are done one after the other, or one of them not at all', async () => {
    const project = await imported()
    const statuses = await Promise.all([1, 2].map(async () => (await undo(project, '?force=true')).status))
    expect([
      [200, 200],
      [200, 409],
    ]).toContainEqual(statuses.toSorted())
    const names = statuses.includes(409) ? [{ name: 'old' }] : [{ name: 'new' }, { name: 'newer' }]
    expect(await artists(project)).toEqual(names)
  })

  test('a stage that is deleted or detached takes with it what is kept beside it', async () => {
    const project = await projectWith('')
    const stages = project.stages.length > 1 ? ['live'] : undefined
    const alone = await exportOf(wharf.root, 'source', stages && { stages })
    expect(await sendArchive(wharf.root, alone, { query: `?targetSlug=${project.slug}` })).toMatchObject({
      status: 200,
    })
    expect(await keptIn(project)).toHaveLength(1)
    const removed = await wharf.root.delete(`/projects/${project.slug}/stages/live`)
    expect(removed.status, removed.text).toBeLessThan(300)
    expect(await keptIn(project)).toEqual([])
  })

  test('an undo that loses its locks changes nothing', async () => {
    const { slug } = await imported()
    const { control, system, imports, importTurns } = wharf.container
    const project = await findProject(control.prisma, slug)
    const stage = findStage(project, 'live')
    const database = await wharf.container.projectDatabase(project, 'imports')
    const locks = `pid IN (SELECT pid FROM pg_locks WHERE relation = 'system.stage_lock'::regclass
                           AND mode = 'RowShareLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
    const lose = async (): Promise<void> => {
      const ended = await wharf.database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${locks}`)
      expect(ended).toHaveLength(1)
      await eventually(() => wharf.database.query(`SELECT pid FROM pg_stat_activity WHERE ${locks}`)).toEqual([])
      // Its end has arrived here once the next answers have.
      for (let count = 0; count < 3; count += 1) await imports.pool.query('SELECT 1')
    }
    const undone = undoImport(
      { ...wharf.container, system, imports, importTurns },
      { ...database, stageId: stage.id, schemaName: stage.schemaName, projectId: project.id },
      { force: location.isAttached, tokenId: null, authorise: lose, onUndone: async () => {} },
    )
    await expect(undone).rejects.toThrow()
    expect(await contents({ slug })).toEqual(expected)
    expect(await undo({ slug }, unwritten)).toMatchObject({ status: 200 })
  })
})

/** The schemas in which the database of a project keeps what imports have replaced. */
const keptIn = ({ database, slug }: PlacedProject): Promise<unknown[]> =>
  database.query(
    `SELECT nspname FROM pg_namespace WHERE nspname LIKE '${slug}.live.old-%' OR nspname LIKE 'wharf_old_%'`,
  )

describe("in Wharf's database, where it is known who writes", () => {
  /** A project that was imported over itself. */
  async function imported(): Promise<PlacedProject> {
    turn += 1
    const project = await SHARED_LOCATION.createProject(wharf, `known${turn}`, { script: TABLES })
    expect(await sendArchive(wharf.root, await exportOf(wharf.root, project.slug))).toMatchObject({ status: 200 })
    return project
  }
  let turn = 0

  test.each(['ANALYZE', 'VACUUM (FREEZE)', 'SELECT count(*) FROM'])(
    'an undo does not ask where only %s came since',
    async (verb) => {
      const project = await imported()
      await wharf.database.query(`${verb} "${project.schema}".artist`)
      expect(await undo(project)).toMatchObject({ status: 200 })
    },
  )

  // An attached database is tried for a minute: test/transfer/import/external-under-way.test.ts.
  test('an undo does not wait for somebody who is writing', async () => {
    const project = await imported()
    await withSession(wharf.database.url, async (writer) => {
      await writer.query(`BEGIN; INSERT INTO "${project.schema}".nothing VALUES (1)`)
      expect(await undo(project)).toMatchObject({ status: 409, text: expect.stringContaining('writing') })
    })
  })

  test('rows can be written while what was kept long enough is dropped', async () => {
    const project = await imported()
    const end = `UPDATE system.side_schema SET expires_at = now() WHERE ${keptOf(project)} RETURNING stage_id`
    const [kept] = await wharf.database.query<{ stage_id: string }>(end)
    await withSession(wharf.database.superuserUrl, async (writer) => {
      // As everybody does who writes a row over HTTP.
      const entered = `SELECT FROM system.stage_lock WHERE stage_id = $1 AND kind = 'write' FOR KEY SHARE`
      await writer.query('BEGIN')
      await writer.query(entered, [kept?.stage_id])
      await sweepShadowSchemas(wharf.container, wharf.container.logger)
    })
    expect(await keptIn(project)).toEqual([])
  })

  test('what an earlier version kept can be undone: it wrote down ids as one text', async () => {
    const project = await imported()
    const changed = await wharf.database.query(`
      UPDATE system.side_schema SET replaced_by = replaced_by - 'transactions' || jsonb_build_object('transaction',
               (SELECT string_agg(id, ',') FROM jsonb_array_elements_text(replaced_by->'transactions') id))
       WHERE ${keptOf(project)} AND replaced_by ? 'transactions' RETURNING replaced_by->>'transaction' AS ids`)
    expect(changed).toEqual([{ ids: expect.stringMatching(/^\d+/) }])
    expect(await undo(project)).toMatchObject({ status: 200 })
  })
})
