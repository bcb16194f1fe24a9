import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
})
