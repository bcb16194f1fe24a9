import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { withSession } from '../support/servers/sessions.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Autovacuum takes minutes over it: it sleeps after every page. */
const TABLE = `CREATE TABLE item (id int PRIMARY KEY, filling text) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
  INSERT INTO item SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n;
  DELETE FROM item WHERE id % 2 = 0`

const programs = installedPrograms()

describe.runIf(programs !== undefined)('on a server that vacuums all the time', () => {
  let cluster: OwnCluster
  let wharf: TestWharf

  beforeAll(async () => {
    cluster = await startOwnCluster(programs ?? '')
    await withSession(cluster.superuserUrl, async (session) => {
      await session.query(`ALTER SYSTEM SET autovacuum_naptime = '1s'`)
      await session.query('SELECT pg_reload_conf()')
    })
    wharf = await startWharf({ database: await cluster.createDatabase() })
  })

  afterAll(async () => {
    await wharf?.close()
    await cluster?.remove()
  })

  test('a change of structure gets past an autovacuum of its table', async () => {
    await createProject(wharf, 'shop', TABLE)
    await withSession(wharf.database.superuserUrl, async (session) => {
      const vacuums = async () =>
        (
          await session.query(
            `SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND query LIKE '%VACUUM%item%'`,
          )
        ).rowCount
      await eventually(vacuums).toBeGreaterThan(0)
      expect((await applyScript(wharf, 'shop', 'ALTER TABLE item ADD name text')).status).toBe(200)
    })
  })

  test('what an import first notes of larger tables, autovacuum completes; of others, the import notes all', async () => {
    const structure = `
      CREATE TABLE small (n int); CREATE TABLE middling (n int); CREATE TABLE large (n int);
      CREATE TABLE left_alone (n int) WITH (autovacuum_enabled = false);
      CREATE TABLE split (n int) PARTITION BY HASH (n);
      CREATE TABLE split_all PARTITION OF split FOR VALUES WITH (MODULUS 1, REMAINDER 0);`
    const counts = { small: 1_000, middling: 5_000, large: 11_000, left_alone: 11_000, split: 11_000 }
    const rows = Object.entries(counts).map(
      ([table, count]) => `INSERT INTO ${table} SELECT generate_series(1, ${count});`,
    )
    await createProject(wharf, 'source', structure + rows.join(''))
    await createProject(wharf, 'noted')
    await withSession(wharf.database.superuserUrl, async (session) => {
      const comeEvery = async (time: string): Promise<void> => {
        await session.query(`ALTER SYSTEM SET autovacuum_naptime = '${time}'`)
        await session.query('SELECT pg_reload_conf()')
      }
      const parts = async (): Promise<unknown> => {
        const { rows: found } = await session.query(
          `SELECT tablename, array_length(histogram_bounds, 1) - 1 AS parts FROM pg_stats WHERE schemaname = 'noted.live'`,
        )
        return Object.fromEntries(found.map((row) => [row.tablename, row.parts]))
      }
      const archive = await exportOf(wharf.root, 'source')
      await comeEvery('1h')
      expect((await sendArchive(wharf.root, archive, { query: '?targetSlug=noted' })).status).toBe(200)
      const others = { left_alone: 100, small: 100, split: 100, split_all: 100 }
      expect(await parts()).toEqual({ ...others, middling: 1, large: 3 })
      await comeEvery('1s')
      await eventually(parts).toEqual({ ...others, middling: 100, large: 100 })
    })
  })
})
