import { PassThrough } from 'node:stream'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { createLogger } from '../../src/logger.ts'

test('an idle connection that breaks is logged without the login and the key of its client', async () => {
  const log = new PassThrough({ encoding: 'utf8' })
  const pool = createPool(inject('wharfUrl'), { maxConnections: 1, session: 'wharf' }, createLogger('warn', log))
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const broken = new Promise((resolve) => pool.once('error', resolve))
  const superuser = new pg.Client({ connectionString: inject('clusterUrl') })
  await superuser.connect()
  await superuser.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
  await broken
  await superuser.end()
  await pool.end()
  const line = log.read()
  expect(line).toContain('terminating connection')
  expect(line).not.toContain('"client"')
  expect(line).not.toContain('secretKey')
})
