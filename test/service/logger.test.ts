import { PassThrough } from 'node:stream'
import { expect, inject, test } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { createLogger } from '../../src/logger.ts'
import { query } from '../support/servers/sessions.ts'

test('an idle connection that breaks is logged without the login and the key of its client', async () => {
  const log = new PassThrough({ encoding: 'utf8' })
  const pool = createPool(inject('wharfUrl'), { maxConnections: 1, session: 'wharf' }, createLogger('debug', log))
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const broken = new Promise((resolve) => pool.once('error', resolve))
  await query(inject('clusterUrl'), 'SELECT pg_terminate_backend($1)', [rows[0]?.pid])
  await broken
  await pool.end()
  const line = log.read()
  expect(line).toContain('terminating connection')
  expect(line).not.toContain('"client"')
  expect(line).not.toContain('secretKey')
})

test('passwords of databases are in no line of the log, whatever they are in', () => {
  const log = new PassThrough({ encoding: 'utf8' })
  const logger = createLogger('debug', log)
  const address = 'postgres://app:hidden-secret@db/app?sslpassword=hidden-secret'
  const cause = new Error(`no way to ${address}`)
  const error = Object.assign(new Error('it failed', { cause }), { input: address, config: { host: 'db', address } })
  const key = '-----BEGIN RSA PRIVATE KEY-----\nhidden-secret\n-----END RSA PRIVATE KEY-----\n'
  const server = {
    name: 'postgres://app@db',
    password: 'hidden-secret',
    encryption: { passphrase: 'hidden-secret', key },
  }
  logger.warn({ err: error, at: address, server, job: { server } }, 'it failed')
  const circle: Record<string, unknown> = { address }
  circle.circle = circle
  logger.warn({ circle }, 'it goes round')
  logger.warn({ err: new AggregateError([cause]), list: [address], connectionString: address, server }, 'it failed')
  const lines = String(log.read())
  expect(lines).toContain('postgres://app:***@db/app?sslpassword=***')
  expect(lines).not.toContain('hidden-secret')
})
