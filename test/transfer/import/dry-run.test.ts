import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  for (const slug of ['empty', 'filled']) await createProject(wharf, slug)
})

afterAll(() => wharf?.close())

const besides = () => wharf.database.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%.new-%'")

test('what PostgreSQL refuses of a structure, a dry run refuses in the same words as the import', async () => {
  await createProject(wharf, 'shop', 'CREATE TABLE t (n integer); CREATE VIEW v AS SELECT n FROM t')
  const lines = await exportOf(wharf.root, 'shop')
  const wrong = lines.replace(/SELECT n\\n +FROM t/, 'SELECT nowhere FROM t')
  expect(wrong).not.toBe(lines)
  const dry = await sendArchive(wharf.root, wrong, { query: '?dryRun=true&targetSlug=empty' })
  expect(dry).toMatchObject({ status: 409, text: expect.stringContaining('column \\"nowhere\\" does not exist') })
  const real = await sendArchive(wharf.root, wrong, { query: '?targetSlug=empty' })
  expect(real.json).toMatchObject({ status: 409, detail: (dry.json as { detail: string }).detail })
})

test('a view that cannot be worked out without rows is no reason to refuse', async () => {
  const view = 'CREATE MATERIALIZED VIEW per_row AS SELECT 1 / count(*) AS share FROM t'
  await createProject(wharf, 'shares', `CREATE TABLE t (n integer); INSERT INTO t VALUES (1); ${view}`)
  const lines = await exportOf(wharf.root, 'shares')
  for (const query of ['?dryRun=true&targetSlug=filled', '?targetSlug=filled', '?dryRun=true&targetSlug=filled']) {
    expect(await sendArchive(wharf.root, lines, { query })).toMatchObject({ status: 200 })
  }
})

test('nothing is left beside a stage', async () => {
  expect(await besides()).toEqual([])
})
