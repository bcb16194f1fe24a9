import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../support/cli/cli.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { eventually } from '../../support/eventually.ts'
import { query, withSession } from '../../support/servers/sessions.ts'

let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase('CREATE TABLE held (n int); CREATE TABLE secret (n int)')
})

afterAll(() => external?.drop())

/** Waits until a session waits for the lock of a table. */
const untilWaitedFor = (table: string) =>
  eventually(() =>
    query(external.owner.href, `SELECT FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`),
  ).toHaveLength(1)

test('a table that a login may read since it was looked for, and that was truncated since, is not exported empty', async () => {
  const reader = external.reader.username
  await external.run(`REVOKE SELECT ON secret FROM ${reader}; INSERT INTO secret VALUES (1)`)
  const result = await withSession(external.owner.href, (owner) =>
    withSession(external.owner.href, async (writer) => {
      await owner.query('BEGIN; LOCK TABLE held')
      const exporting = runCommand(['data:export', external.reader.href, '--output', '-', '--no-gzip'])
      await untilWaitedFor('held')
      // The export has looked which tables it may read, and has no snapshot yet.
      await external.run(`GRANT SELECT ON secret TO ${reader}`)
      await writer.query('BEGIN; TRUNCATE secret; INSERT INTO secret VALUES (2)')
      await owner.query('COMMIT')
      await untilWaitedFor('secret')
      await writer.query('COMMIT')
      return exporting
    }),
  )
  expect(result).toMatchObject({ code: 0 })
  expect(result.stdout).toContain('{"row":[2]}')
})
