import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { assertUsable } from '../../../src/database/address/assert-usable.ts'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { reachServer } from '../../../src/database/address/reach-server.ts'
import { resolveAddress } from '../../../src/database/address/resolve-address.ts'
import { createLogger } from '../../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import { startOwnCluster } from '../../support/servers/own-cluster.ts'
import { hasPgBouncer, startPgBouncer } from '../../support/servers/pgbouncer.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { startTcpRelay } from '../../support/servers/tcp-relay.ts'

if (process.env.CI && !hasPgBouncer) throw new Error('pgbouncer is not installed, which .ci/run should have seen to')

const programs = installedPrograms()
const logger = createLogger('silent')

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function assertUsableAt(url: string, forWriting = false): Promise<void> {
  const { first } = await resolveAddress(parsePostgresAddress(`${url}?sslmode=disable`))
  await assertUsable(first, { forWriting, applicationName: 'test', logger })
}

/** As who names a server for the first time does it. */
async function reachAt(url: string): Promise<void> {
  const options = { forWriting: false, applicationName: 'test', logger }
  await assertUsable(await reachServer(await resolveAddress(parsePostgresAddress(url)), options), options)
}

test('a server of its own is usable', async () => {
  await assertUsableAt(database.url, true)
})

test.skipIf(!hasPgBouncer).each(['transaction', 'statement'] as const)(
  'PgBouncer in %s mode is refused by name',
  async (mode) => {
    const pooler = await startPgBouncer(database.url, mode)
    onTestFinished(() => pooler.end())
    // All but the name of a client, which PgBouncer gives to the server with each of its transactions.
    const settings = () =>
      withSession(pooler.url, async (client) => {
        const asked = `SELECT pg_backend_pid() AS pid, (SELECT json_agg(s ORDER BY name) FROM pg_settings s
          WHERE name <> 'application_name') AS settings`
        return (await client.query<{ pid: number; settings: unknown }>(asked)).rows[0]
      })
    const before = await settings()
    await expect(reachAt(pooler.url)).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringContaining('is a pooler in transaction or statement mode (such as PgBouncer)'),
    })
    // The same session of the server, which others get next.
    expect(await settings()).toEqual(before)
  },
)

test.skipIf(!hasPgBouncer)('PgBouncer in session mode is usable', async () => {
  const pooler = await startPgBouncer(database.url, 'session')
  onTestFinished(() => pooler.end())
  await assertUsableAt(pooler.url, true)
})

test('a server that is too old is refused by its version, before anything is asked of it', async () => {
  // What the server says of itself at the beginning of a session.
  const key = 'server_version\0'
  const relay = await startTcpRelay(database.url, () => ({
    asks: () => true,
    answers(chunk) {
      const at = chunk.indexOf(key)
      if (at >= 0) chunk.write('13', at + key.length)
      return true
    },
  }))
  onTestFinished(() => relay.cut())
  await expect(assertUsableAt(relay.url)).rejects.toMatchObject({
    code: 'DATABASE_UNSUITABLE',
    message: expect.stringMatching(/^PostgreSQL 14 or newer is needed, and the server says that it is 13\./),
  })
})

test.skipIf(programs === undefined)('a standby can be read, and not written', async () => {
  const cluster = await startOwnCluster(programs ?? '')
  onTestFinished(() => cluster.remove())
  await cluster.restartAsStandby()
  await assertUsableAt(cluster.url)
  await expect(assertUsableAt(cluster.url, true)).rejects.toMatchObject({ code: 'DATABASE_READ_ONLY' })
})
