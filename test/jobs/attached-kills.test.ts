import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { sweepDoubts } from '../../src/transfer/import/external/settle-doubts.ts'
import { sweepShadowSchemas } from '../../src/transfer/import/shadow-schemas.ts'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { PAUSE, withPausePoint } from '../support/database/pause-point.ts'
import { eventually } from '../support/eventually.ts'
import type { ApiAnswer, ApiClient } from '../support/http/api-client.ts'
import {
  askImport,
  jobOf,
  type SeenJob,
  startApiProcess,
  startWorkerProcess,
  untilEnded,
} from '../support/jobs/jobs.ts'
import type { ScriptProcess } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { openSession, query } from '../support/servers/sessions.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'
import { pauseLastSteps } from './last-steps.ts'

// Servers and processes are started and ended in each test, which a busy machine takes its time for.
vi.setConfig({ testTimeout: 120_000 })

const STRUCTURE = 'CREATE TABLE item (id integer PRIMARY KEY, n integer);'
/** The same, with rows that pause as they are loaded. */
const PAUSING = `CREATE DOMAIN pausing AS integer CHECK (${PAUSE}); CREATE TABLE item (id integer PRIMARY KEY, n pausing);`
const OLD = 'INSERT INTO item VALUES (1, 1), (2, 2)'
const NEW = 'INSERT INTO item SELECT n, n FROM generate_series(3, 100) n'

/** The stages, by project: `public`, whose objects move one by one, and schemas that change their names. */
const SCHEMAS = { shop: 'public', 'shop-loads': 'loads', 'shop-last': 'last', 'shop-commit': 'commits' } as const

type Slug = keyof typeof SCHEMAS

/** At which step of an import what is killed, and in which project. */
interface Kill {
  readonly step: 'loads' | 'waits for readers' | 'commits there' | 'says so' | 'says so, and commits here'
  readonly slug: Slug
  /** Whether the new rows are there by then. */
  readonly isVisible: boolean
}

const STEPS: readonly Kill[] = [
  { step: 'loads', slug: 'shop-loads', isVisible: false },
  { step: 'waits for readers', slug: 'shop', isVisible: false },
  { step: 'says so', slug: 'shop-last', isVisible: false },
  { step: 'commits there', slug: 'shop', isVisible: false },
  { step: 'says so, and commits here', slug: 'shop-commit', isVisible: true },
]

const VICTIMS = ['worker', "Wharf's PostgreSQL", 'other PostgreSQL'] as const
type Victim = (typeof VICTIMS)[number]

/** Those of every run: each victim, and each side of the commit. */
const USUAL: readonly string[] = [
  'worker: commits there',
  "Wharf's PostgreSQL: says so, and commits here",
  'other PostgreSQL: says so',
]

const programs = installedPrograms()

describe.skipIf(programs === undefined)('an import into an attached database', () => {
  let clusters: readonly [OwnCluster, OwnCluster]
  let wharf: TestWharf
  let external: ExternalDatabase
  let worker: ScriptProcess
  const archives = new Map<string, string>()
  let environment: Readonly<Record<string, string>>

  beforeAll(async () => {
    clusters = await Promise.all([startOwnCluster(programs ?? ''), startOwnCluster(programs ?? '')])
    const inEach = Object.values(SCHEMAS).map(
      (schema) =>
        `CREATE SCHEMA IF NOT EXISTS ${schema}; SET search_path = ${schema}; ${schema === 'loads' ? PAUSING : STRUCTURE} ${OLD}`,
    )
    external = await createExternalDatabase(inEach.join('; '), clusters[1].createDatabase)
    environment = { WHARF_TRANSFER_HOSTS: external.owner.host }
    wharf = await startWharf({ environment, database: await clusters[0].createDatabase() })
    await pauseLastSteps(wharf.database)
    for (const [source, structure] of [
      ['plain', STRUCTURE],
      ['pausing', PAUSING],
    ] as const) {
      await createProject(wharf, source, `${structure} ${NEW}`)
      archives.set(source, await exportOf(wharf.root, source))
    }
    for (const [slug, schema] of Object.entries(SCHEMAS)) {
      const attach = { address: external.owner.href, stages: [{ slug: 'live', schema }] }
      expect((await wharf.root.post('/projects', { json: { slug, attach } })).status).toBe(201)
    }
    const first = await sendArchive(wharf.root, archives.get('plain') ?? '', { query: '?targetSlug=shop' })
    expect(first.status, first.text).toBe(200)
    await query(
      external.database.superuserUrl,
      `CREATE SCHEMA pausing; GRANT USAGE ON SCHEMA pausing TO PUBLIC;
       CREATE FUNCTION pausing.pause() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS 'BEGIN PERFORM ${PAUSE}; RETURN NULL; END';
       CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON wharf_imports.committed DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION pausing.pause()`,
    )
  })
  afterAll(async () => {
    await wharf?.close()
    for (const cluster of clusters ?? []) await cluster.remove()
  })

  async function importInto(slug: Slug): Promise<SeenJob> {
    const archive = archives.get(slug === 'shop-loads' ? 'pausing' : 'plain') ?? ''
    return jobOf(await askImport(wharf.root, archive, `?targetSlug=${slug}`))
  }

  const asOwner = <Row extends object>(sql: string): Promise<Row[]> => query(external.owner.href, sql) as Promise<Row[]>

  const rows = async (slug: Slug): Promise<number> =>
    (await asOwner<{ id: number }>(`SELECT id FROM ${SCHEMAS[slug]}.item`)).length

  /** What was imported into a stage, as Wharf and as the other database have it written down. */
  async function imports(slug: Slug): Promise<readonly number[]> {
    const [here] = await wharf.database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM system.event JOIN control.stage ON stage.id = stage_id
        WHERE kind = 'import' AND schema_name = $1`,
      [SCHEMAS[slug]],
    )
    const there = await asOwner(
      `SELECT FROM wharf_imports.committed WHERE import->'imported'->0->>'targetSlug' = '${slug}'`,
    )
    return [here?.n ?? 0, there.length]
  }

  /** The schemas that imports have left in the other database, and those that Wharf knows of. */
  async function schemas(): Promise<readonly [readonly string[], readonly string[]]> {
    await sweepDoubts(wharf.container, wharf.container.logger)
    await sweepShadowSchemas(wharf.container, wharf.container.logger)
    const there = await asOwner<{ name: string }>(
      `SELECT nspname::text AS name FROM pg_namespace WHERE nspname LIKE 'wharf%' AND nspname <> 'wharf_imports' ORDER BY 1`,
    )
    const here = await wharf.database.query<{ name: string }>(
      `SELECT schema_name AS name FROM system.side_schema ORDER BY 1`,
    )
    return [there.map(({ name }) => name), here.map(({ name }) => name)]
  }

  /** As a superuser sees it. */
  const there = (): Pick<TestWharf, 'database'> => {
    const { superuserUrl: url } = external.database
    return { database: { ...external.database, url, query: (sql, parameters) => query(url, sql, parameters) } }
  }

  /**
   * Asks for an import, and lets something be done when it has come to a step.
   *
   * @param first is done before a worker begins.
   */
  async function during(
    { step, slug }: Kill,
    use: (job: SeenJob) => Promise<void>,
    first: (job: SeenJob) => Promise<unknown> = async () => undefined,
  ): Promise<SeenJob> {
    const begin = async (): Promise<SeenJob> => {
      const job = await importInto(slug)
      await first(job)
      worker = await startWorkerProcess(wharf, environment)
      return job
    }
    if (step === 'waits for readers') {
      const reader = await openSession(external.owner.href)
      await reader.query(`BEGIN; SELECT FROM ${SCHEMAS[slug]}.item`)
      const job = await begin()
      await eventually(() =>
        asOwner(`SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted`),
      ).not.toEqual([])
      await use(job)
      await reader.end().catch(() => undefined)
      return job
    }
    const isThere = step === 'loads' || step === 'commits there'
    return withPausePoint(isThere ? there() : wharf, async (pausePoint) => {
      const job = await begin()
      await pausePoint.reached()
      await use(job)
      return job
    })
  }

  async function kill(victim: Victim): Promise<void> {
    if (victim === 'worker') {
      await worker.kill('SIGKILL')
      worker = await startWorkerProcess(wharf, environment)
      return
    }
    const cluster = clusters[victim === 'other PostgreSQL' ? 1 : 0]
    await cluster.crash()
    await cluster.start()
  }

  const cases = VICTIMS.flatMap((victim) => STEPS.map((at) => [victim, at.step, at] as const)).filter(
    ([victim, step]) => isThorough || USUAL.includes(`${victim}: ${step}`),
  )

  test.each(cases)('that is under way when the %s is killed as it %s is made visible once', async (victim, _, at) => {
    const { slug, isVisible } = at
    const schema = SCHEMAS[slug]
    await asOwner(`TRUNCATE ${schema}.item; INSERT INTO ${schema}.item VALUES (1, 1), (2, 2)`)
    const [here = 0, elsewhere = 0] = await imports(slug)
    const asked = await during(at, async () => {
      if (isVisible) await asOwner(`INSERT INTO ${schema}.item VALUES (1000, NULL)`)
      await kill(victim)
      // Who commits has the table locked until it is let go on.
      if (at.step !== 'commits there') expect(await rows(slug)).toBe(isVisible ? 99 : 2)
    })
    expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded', error: null })
    expect(await rows(slug)).toBe(isVisible ? 99 : 98)
    expect(await imports(slug)).toEqual([here + 1, elsewhere + 1])
    const [left, known] = await schemas()
    expect(left).toEqual(known)
  })

  test.each([
    [
      'has no attempt left',
      (id: string) => wharf.database.query('UPDATE control.job SET max_attempts = 1 WHERE id = $1', [id]),
      async () => undefined,
    ],
    ['is to be cancelled', async () => undefined, (id: string) => wharf.root.post(`/jobs/${id}/cancel`)],
  ] as const)(
    'that is visible has succeeded, also where its worker was killed and the job %s',
    async (_, first, then) => {
      await asOwner('TRUNCATE commits.item; INSERT INTO commits.item VALUES (1, 1), (2, 2)')
      const before = await imports('shop-commit')
      const asked = await during(
        { step: 'says so, and commits here', slug: 'shop-commit', isVisible: true },
        async ({ id }) => {
          await asOwner('INSERT INTO commits.item VALUES (1000, NULL)')
          const [, answer] = await Promise.all([kill('worker'), then(id)])
          if (answer) expect(answer.status, answer.text).toBeLessThan(300)
        },
        ({ id }) => first(id),
      )
      expect(await untilEnded(wharf.root, asked)).toMatchObject({ status: 'succeeded', error: null })
      expect(await rows('shop-commit')).toBe(99)
      expect(await imports('shop-commit')).toEqual(before.map((n) => n + 1))
      const [left, known] = await schemas()
      expect(left).toEqual(known)
    },
  )

  /** How what an import has replaced goes, and at which statement it is stopped: in the other database, or in Wharf's own. */
  const DROPS = ['a sweep', 'the next import', 'detaching'].flatMap((way) =>
    ['drops it there', 'says so here'].flatMap((step) => VICTIMS.map((victim) => ({ way, step, victim }))),
  )
  const USUAL_DROPS = ['a sweep drops it there worker', "detaching says so here Wharf's PostgreSQL"]
  const drops = DROPS.filter(({ way, step, victim }) => isThorough || USUAL_DROPS.includes(`${way} ${step} ${victim}`))

  /** Lets sessions that drop a schema in the other database pause, or those that forget one here. */
  async function withPausingDrops<T>(use: () => Promise<T>): Promise<T> {
    const elsewhere = (sql: string): Promise<unknown> => query(external.database.superuserUrl, sql)
    await elsewhere(`ALTER TABLE wharf_imports.committed DISABLE TRIGGER pause;
      CREATE FUNCTION pausing.pause_drop() RETURNS event_trigger LANGUAGE plpgsql SET lock_timeout = 0 AS 'BEGIN PERFORM ${PAUSE}; END';
      CREATE EVENT TRIGGER pause_drop ON sql_drop WHEN TAG IN ('DROP SCHEMA') EXECUTE FUNCTION pausing.pause_drop()`)
    await wharf.database.query(`CREATE TRIGGER pause_forgetting AFTER DELETE ON system.side_schema
      FOR EACH ROW WHEN (OLD.kind = 'kept') EXECUTE FUNCTION control.pause()`)
    try {
      return await use()
    } finally {
      await wharf.database.query('DROP TRIGGER pause_forgetting ON system.side_schema')
      await elsewhere(`DROP EVENT TRIGGER pause_drop; DROP FUNCTION pausing.pause_drop();
        ALTER TABLE wharf_imports.committed ENABLE TRIGGER pause`)
    }
  }

  test.each(drops)(
    'what it has replaced goes whole, also where the $victim is killed as $way $step',
    async ({ way, step, victim }) => {
      const slug = 'shop-kept'
      const archive = archives.get('plain') ?? ''
      await asOwner(`CREATE SCHEMA kept; SET search_path = kept; ${STRUCTURE} ${OLD}`)
      const attach = { address: external.owner.href, stages: [{ slug: 'live', schema: 'kept' }] }
      expect((await wharf.root.post('/projects', { json: { slug, attach } })).status).toBe(201)
      const imported = await sendArchive(wharf.root, archive, { query: `?targetSlug=${slug}` })
      expect(imported.status, imported.text).toBe(200)
      const detach = (root: ApiClient): Promise<ApiAnswer> => root.delete(`/projects/${slug}/attachment`)
      const api = way === 'detaching' ? await startApiProcess(wharf, environment) : undefined

      const detached = await withPausingDrops(() =>
        withPausePoint(step === 'drops it there' ? there() : wharf, async (pausePoint) => {
          if (way === 'a sweep') {
            await wharf.database.query(`UPDATE system.side_schema SET expires_at = now() WHERE kind = 'kept'
              AND stage_id = (SELECT id FROM control.stage WHERE schema_name = 'kept')`)
          }
          if (way === 'the next import') jobOf(await askImport(wharf.root, archive, `?targetSlug=${slug}`))
          const asked = api && detach(api.root).catch((error: unknown) => error)
          if (!api) worker = await startWorkerProcess(wharf, environment)
          await pausePoint.reached()
          if (api && victim === 'worker') await api.kill('SIGKILL')
          else await kill(victim)
          // It may wait until drops do not pause any more.
          return { asked }
        }),
      )
      await detached.asked

      expect((await asOwner('SELECT FROM kept.item')).length).toBe(98)
      if (api) {
        const undone = await wharf.root.post(`/projects/${slug}/stages/live/undo?force=true`)
        expect([200, 404, 409], undone.text).toContain(undone.status)
        expect((await asOwner('SELECT FROM kept.item')).length).toBe(undone.status === 200 ? 2 : 98)
      }
      worker = await startWorkerProcess(wharf, environment)
      await eventually(() =>
        wharf.database.query(`SELECT id FROM control.job WHERE status IN ('queued', 'running')`),
      ).toEqual([])
      // What is gone there without its record goes from the records when it would have been dropped anyway.
      const unknown = async (): Promise<readonly string[]> => {
        const [left, known] = await schemas()
        return left.filter((name) => !known.includes(name))
      }
      await eventually(unknown).toEqual([])
      if (!api) expect((await schemas())[1]).toEqual((await schemas())[0])
      const left = await detach(wharf.root)
      expect([204, 404], left.text).toContain(left.status)
      await asOwner('DROP SCHEMA kept CASCADE')
      const [have, known] = await schemas()
      expect(have).toEqual(known)
    },
  )

  test('that came without a job is recorded once somebody looks, with what it replaced', async () => {
    await asOwner('TRUNCATE last.item; INSERT INTO last.item VALUES (1, 1), (2, 2)')
    const before = await imports('shop-last')
    await wharf.database.query(
      `CREATE FUNCTION control.lose() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER lost AFTER DELETE ON system.side_schema DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW WHEN (OLD.kind = 'committing') EXECUTE FUNCTION control.lose()`,
    )
    const answer = await sendArchive(wharf.root, archives.get('plain') ?? '', { query: '?targetSlug=shop-last' })
    await wharf.database.query('DROP TRIGGER lost ON system.side_schema')
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(await rows('shop-last')).toBe(98)
    const [left, known] = await schemas()
    expect(left).toEqual(known)
    expect(await imports('shop-last')).toEqual(before.map((n) => n + 1))
    const undone = await wharf.root.post('/projects/shop-last/stages/live/undo?force=true')
    expect(undone.status, undone.text).toBe(200)
    expect(await rows('shop-last')).toBe(2)
  })
})
