import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import { isRedisInstalled, type RedisServer, startRedis } from '../support/servers/redis.ts'
import { withSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const programs = installedPrograms()

describe.each(programs === undefined ? [] : [programs])('after a crash of the PostgreSQL in %s', (bin) => {
  describe.each(isRedisInstalled ? ['memory', 'memory and Redis'] : ['memory'])('with answers kept in %s', (kept) => {
    let cluster: OwnCluster
    let redis: RedisServer | undefined
    let wharf: TestWharf
    let beside: TestWharf

    beforeAll(async () => {
      cluster = await startOwnCluster(bin)
      redis = kept === 'memory' ? undefined : await startRedis()
      await redis?.start()
      const environment: Readonly<Record<string, string>> = redis ? { REDIS_URL: redis.url } : {}
      wharf = await startWharf({ database: await cluster.createDatabase(), environment })
      beside = await startWharf({ beside: wharf, environment })
      await createProject(
        wharf,
        'mixed',
        `${ROWS('UNLOGGED')}; CREATE TABLE other (id int); INSERT INTO other VALUES (9)`,
      )
      await createProject(wharf, 'safe', ROWS(''))
    })

    afterAll(async () => {
      await beside?.close()
      await wharf?.close()
      await redis?.kill()
      await cluster?.remove()
    })

    test('no reference of before is answered with 304 where a table was emptied, and no row of before is given', async () => {
      for (const round of [1, 2]) {
        const before = await read(wharf, 'mixed')
        const other = (await wharf.root.get('/content/mixed/live/other')).headers.etag ?? ''
        expect(before, `round ${round}`).toMatchObject({ status: 200, json: [{ id: 1 }] })
        expect(await read(wharf, 'mixed', before)).toMatchObject({ status: 304 })
        const safe = await read(wharf, 'safe')

        await cluster.crash()
        await cluster.start()

        for (const process of [wharf, beside]) {
          const after = await reached(() => read(process, 'mixed', before))
          expect(after, `round ${round}`).toMatchObject({ status: 200, json: [] })
          expect(await read(process, 'mixed', after)).toMatchObject({ status: 304 })
          const headers = { 'if-none-match': other }
          expect(await process.root.get('/content/mixed/live/other', { headers })).toMatchObject({
            status: 200,
            json: [{ id: 9 }],
          })
          expect(await read(process, 'safe', safe), 'nothing of it was lost').toMatchObject({ status: 304 })
        }
        await withSession((await loginUrl(wharf, 'mixed')).href, (client) =>
          client.query('INSERT INTO "mixed.live".item VALUES (1)'),
        )
      }
    })

    test('a project that holds its place in the log keeps nobody from reading, and no 304 is given of it', async () => {
      await withSession((await loginUrl(wharf, 'mixed')).href, async (session) => {
        await session.query('BEGIN; INSERT INTO "mixed.live".item VALUES (2); SET CONSTRAINTS ALL IMMEDIATE')
        const safe = await read(wharf, 'safe')
        const before = await read(wharf, 'mixed')
        // As a crash leaves it.
        await wharf.database.query('DELETE FROM system.stage_crash_check')
        const first = await read(wharf, 'mixed', before)
        expect(first).toMatchObject({ status: 200, json: [{ id: 1 }] })
        expect(await read(wharf, 'mixed', first)).toMatchObject({ status: 200 })
        expect(await read(wharf, 'safe', safe)).toMatchObject({ status: 304 })
        await session.query('ROLLBACK')
        const recorded = await read(wharf, 'mixed')
        expect(await read(wharf, 'mixed', recorded)).toMatchObject({ status: 304 })
      })
    })

    test('the log says once for each crash that the table was emptied', async () => {
      const events = await wharf.database.query(
        `SELECT kind, table_name FROM system.event JOIN system.stage_state USING (stage_id)
         WHERE schema_name = 'mixed.live' AND kind = 'truncate'`,
      )
      expect(events).toEqual([1, 2, 3].map(() => ({ kind: 'truncate', table_name: 'item' })))
    })
  })
})

describe.each(programs === undefined ? [] : [programs])('on a standby, as of the PostgreSQL in %s', (bin) => {
  test('rows are given, and 304 for what has not changed', async () => {
    const cluster = await startOwnCluster(bin)
    const wharf = await startWharf({ database: await cluster.createDatabase() })
    await createProject(wharf, 'shop', ROWS(''))
    const before = await read(wharf, 'shop')
    await cluster.restartAsStandby()
    expect(await reached(() => read(wharf, 'shop'))).toMatchObject({ status: 200, json: [{ id: 1 }] })
    expect(await read(wharf, 'shop', before)).toMatchObject({ status: 304 })
    const write = await wharf.root.post('/content/shop/live/item', { json: { id: 2 } })
    expect(write).toMatchObject({ status: 503, json: { type: 'urn:wharf:error:database-read-only' } })
    await cluster.promote()
    await wharf.close()
    await cluster.remove()
  })
})

test('while a crash cannot be logged, since the disk has no room, rows are given and no 304', async () => {
  const wharf = await startWharf()
  await createProject(wharf, 'shop', ROWS('UNLOGGED'))
  const before = await read(wharf, 'shop')
  await wharf.database.query(`
    DELETE FROM system.stage_crash_check;
    CREATE FUNCTION system.no_room() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER no_room BEFORE INSERT ON system.event FOR EACH ROW EXECUTE FUNCTION system.no_room()`)
  const first = await read(wharf, 'shop', before)
  expect(first).toMatchObject({ status: 200, json: [{ id: 1 }] })
  expect(await read(wharf, 'shop', first)).toMatchObject({ status: 200, json: [{ id: 1 }] })
  await wharf.close()
})

test('while a crash cannot be logged, since the database takes no writes, rows are given and no 304', async () => {
  const wharf = await startWharf()
  await createProject(wharf, 'shop', ROWS('UNLOGGED'))
  const before = await read(wharf, 'shop')
  // As a crash leaves it.
  await wharf.database.query('DELETE FROM system.stage_crash_check')
  await wharf.database.query(`DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND usename = 'wharf' AND pid <> pg_backend_pid(); END $$`)
  const first = await reached(() => read(wharf, 'shop', before))
  expect(first).toMatchObject({ status: 200, json: [{ id: 1 }] })
  expect(await read(wharf, 'shop', first)).toMatchObject({ status: 200, json: [{ id: 1 }] })
  await wharf.close()
})

const ROWS = (kind: string): string => `CREATE ${kind} TABLE item (id int PRIMARY KEY); INSERT INTO item VALUES (1)`

const read = ({ root }: TestWharf, slug: string, known?: ApiAnswer): Promise<ApiAnswer> =>
  root.get(`/content/${slug}/live/item`, { headers: known ? { 'if-none-match': known.headers.etag ?? '' } : {} })

/** The first answer that is not about the server being away. */
async function reached(ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  let answer = await ask()
  for (const until = Date.now() + 30_000; answer.status >= 500 && Date.now() < until; ) answer = await ask()
  return answer
}
