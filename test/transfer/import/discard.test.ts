import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { createExternalDatabase, type ExternalDatabase } from '../../support/database/external-database.ts'
import { openSession, query } from '../../support/servers/sessions.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

/** One whose objects move, and one that changes its name. */
const STAGES = [
  { slug: 'live', schema: 'public' },
  { slug: 'sales', schema: 'sales' },
]

let wharf: TestWharf
let external: ExternalDatabase

beforeAll(async () => {
  external = await createExternalDatabase(`CREATE TABLE item (n int); INSERT INTO item VALUES (0);
    CREATE SCHEMA sales; CREATE TABLE sales.item (n int); INSERT INTO sales.item VALUES (0)`)
  wharf = await startWharf({ environment: MAY_ATTACH })
  const json = { slug: 'shop', attach: { address: external.owner.href, stages: STAGES } }
  expect((await wharf.root.post('/projects', { json })).status).toBe(201)
})
afterAll(async () => {
  await wharf?.close()
  await external?.drop()
})

const asOwner = (sql: string): Promise<object[]> => query(external.owner.href, sql)
const valueIn = async (schema: string): Promise<unknown> => asOwner(`SELECT n FROM ${schema}.item`)

const setTo = (n: number): Promise<object[]> => asOwner(`UPDATE item SET n = ${n}; UPDATE sales.item SET n = ${n}`)

async function importOver(archive: string): Promise<void> {
  const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=shop' })
  expect(imported.status, imported.text).toBe(200)
}

/** The schemas that keep what imports have replaced. */
const kept = async (): Promise<readonly string[]> => {
  const rows = await query<{ name: string }>(
    external.owner.href,
    `SELECT nspname::text AS name FROM pg_namespace WHERE nspname LIKE 'wharf\\_old\\_%' ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

test.each(STAGES.slice(isThorough ? 0 : 1))(
  'of what imports into stage $slug have replaced, the last goes last',
  async ({ slug, schema }) => {
    const archives: string[] = []
    for (const n of [1, 2]) {
      await setTo(n)
      archives.push(await exportOf(wharf.root, 'shop'))
    }
    await setTo(3)
    const [first = '', second = ''] = archives
    await importOver(first)
    const reader = await openSession(external.owner.href)
    const path = `/projects/shop/stages/${slug}/undo`
    try {
      await reader.query('BEGIN')
      for (const name of await kept()) await reader.query(`SELECT FROM ${name}.item`)
      await importOver(second)
      expect(await kept()).toHaveLength(4)
      // What the import before has replaced is read, and what the last one has is still what an undo brings back.
      const refused = await wharf.root.delete(path)
      expect(refused, refused.text).toMatchObject({
        status: 409,
        json: { detail: expect.stringMatching(/^what is kept in the schema "wharf_old_.*" is being read/) },
      })
      expect((await wharf.root.post(`${path}?force=true`)).status).toBe(200)
      expect(await valueIn(schema)).toEqual([{ n: 1 }])
      expect((await wharf.root.post(`${path}?force=true`)).status).toBe(200)
      expect(await valueIn(schema)).toEqual([{ n: 2 }])
    } finally {
      await reader.end()
    }
    for (const stage of STAGES) {
      expect((await wharf.root.delete(`/projects/shop/stages/${stage.slug}/undo`)).status).toBe(204)
    }
    expect(await kept()).toEqual([])
    expect(await wharf.database.query(`SELECT FROM system.side_schema WHERE kind = 'kept'`)).toEqual([])
    expect((await wharf.root.post(`${path}?force=true`)).status).toBe(409)
    expect(await valueIn(schema)).toEqual([{ n: 2 }])
  },
)
