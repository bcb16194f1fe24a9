import { afterAll, beforeAll, expect, test } from 'vitest'
import { estimateRows } from '../../../src/transfer/export/estimate-rows.ts'
import { withSession } from '../../support/servers/sessions.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const ROWS = 10_000

let wharf: TestWharf
let schema: string

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(
    wharf,
    'shop',
    `CREATE TABLE item AS SELECT n, md5(n::text) AS text FROM generate_series(1, ${ROWS}) n; CREATE TABLE none (n int);
     ALTER TABLE item SET (autovacuum_enabled = false)`,
  )
  const { prisma } = wharf.container.control
  schema = (await prisma.stage.findFirstOrThrow({ where: { project: { slug: 'shop' } } })).schemaName
})
afterAll(() => wharf.close())

const estimate = (): Promise<number> => estimateRows(wharf.container, [{ slug: 'shop', system: false }])

test('tables that nobody has analyzed are estimated by their size', async () => {
  const rows = await estimate()
  expect(rows).toBeGreaterThan(ROWS / 2)
  expect(rows).toBeLessThan(ROWS * 2)
  expect(Number.isInteger(rows)).toBe(true)
  const { headers } = await wharf.root.post('/export', { json: { projects: [{ slug: 'shop' }] } })
  expect(headers['wharf-rows-estimate']).toBe(String(rows))
})

test('an estimate does not wait for somebody who has locked a table', async () => {
  await withSession(wharf.database.superuserUrl, async (client) => {
    await client.query(`BEGIN; LOCK TABLE "${schema}".item`)
    expect(await estimate()).toBe(0)
  })
  expect(await estimate()).toBeGreaterThan(0)
})

test('what ANALYZE has found counts as it is', async () => {
  await withSession(wharf.database.superuserUrl, (client) => client.query(`ANALYZE "${schema}".item, "${schema}".none`))
  expect(await estimate()).toBe(ROWS)
})
