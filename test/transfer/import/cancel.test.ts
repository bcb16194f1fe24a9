import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildArchive, column } from '../../support/archives/archive-builder.ts'
import { eventually } from '../../support/eventually.ts'
import { askImport, jobOf, untilStatus } from '../../support/jobs/jobs.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
})

afterAll(() => wharf?.close())

/** An index that takes minutes: each of its keys is the length of a long text that is made for it. */
const SLOW_INDEX = 'CREATE INDEX slow ON t USING btree (length(repeat(a, 20000000)))'

test('an import that is cancelled while PostgreSQL builds an index ends that statement, too', async () => {
  await createProject(wharf, 'slow')
  const table = { name: 't', columns: [column('a', 'text')], indexes: [{ name: 'slow', definition: SLOW_INDEX }] }
  const rows = Array.from({ length: 100_000 }, () => ['x'])
  const archive = buildArchive({ slug: 'slow', stages: [{ tables: [{ ...table, rows }] }] })
  const running = () =>
    wharf.database.query(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE 'CREATE INDEX slow%'`,
    )
  const job = jobOf(await askImport(wharf.root, archive.toString()))
  await eventually(running).toHaveLength(1)
  expect(await wharf.root.post(`/jobs/${job.id}/cancel`)).toMatchObject({ status: 202 })
  await untilStatus(wharf.root, job.id, 'cancelled')
  await eventually(running).toEqual([])
})
