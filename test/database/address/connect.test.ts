import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { resolveAddress } from '../../../src/database/address/resolve-address.ts'
import type { ServerConnection } from '../../../src/database/address/server-connection.ts'
import { createPool } from '../../../src/database/pool.ts'
import { openSession } from '../../../src/database/session-client.ts'
import { createLogger } from '../../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'

const logger = createLogger('silent')
const ATTACHED = { kind: 'attached', applicationName: 'test', logger } as const

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function resolve(parameters: string): Promise<ServerConnection> {
  return (await resolveAddress(parsePostgresAddress(`${database.url}?sslmode=disable&${parameters}`))).first
}

test('sessions and pools connect to an address that was resolved, with its settings', async () => {
  const server = await resolve('options=-c%20geqo%3Doff%20-c%20DateStyle%3DGerman&application_name=mine')
  const asked = `SELECT current_setting('geqo') AS geqo, current_setting('DateStyle') AS style,
    current_setting('application_name') AS name, current_database() AS database`
  const expected = { geqo: 'off', style: 'ISO, MDY', name: 'mine', database: server.database }
  const client = await openSession(server, ATTACHED)
  onTestFinished(() => client.end())
  expect((await client.query(asked)).rows).toEqual([expected])
  const pool = createPool(server, { maxConnections: 1, session: 'attached' }, logger)
  onTestFinished(() => pool.end())
  expect((await pool.query(asked)).rows).toEqual([expected])
})

test('variables of the environment change nothing of an address that was resolved', async () => {
  const variables = { PGOPTIONS: '-c nonsense=1', PGSSLMODE: 'require', PGCLIENT_ENCODING: 'LATIN1', PGPASSWORD: 'x' }
  Object.assign(process.env, variables)
  try {
    const client = await openSession(await resolve(''), ATTACHED)
    onTestFinished(() => client.end())
    expect((await client.query('SHOW client_encoding')).rows).toEqual([{ client_encoding: 'UTF8' }])
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name]
  }
})

test('a database that is closed to writes can be read, and stays closed', async () => {
  const server = await resolve('options=-c%20default_transaction_read_only%3Don')
  const client = await openSession(server, ATTACHED)
  onTestFinished(() => client.end())
  await expect(client.query('CREATE TABLE public.refused ()')).rejects.toMatchObject({ code: '25006' })
  expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
})
