import { afterAll, beforeAll, expect, test } from 'vitest'
import { consistentRead } from '../../src/content/consistent-read.ts'
import { referenceSql } from '../../src/events/reference-sql.ts'
import { readStageVersions, type StageVersion } from '../../src/events/stage-versions.ts'
import { createShips, latestEvent, SHIP, schemaOf } from '../support/content/content.ts'
import { withSession } from '../support/servers/sessions.ts'
import { loginUrl } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let archive: Buffer

beforeAll(async () => {
  wharf = await startWharf()
  await createShips(wharf)
  archive = (await wharf.root.post('/export', { json: { projects: [{ slug: 'ships' }] } })).bytes
})
afterAll(() => wharf.close())

async function swapIn(): Promise<void> {
  const answer = await wharf.root.post('/import', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: archive,
  })
  expect(answer.status).toBe(200)
}

async function stageId(): Promise<string> {
  const [row] = await wharf.database.query<{ id: string }>(
    `SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = 'ships'`,
  )
  return row?.id ?? ''
}

const versionOf = async (id: string): Promise<StageVersion> => {
  const version = (await readStageVersions(wharf.container.system.pool, [id])).get(id)
  if (!version) throw new Error('the stage is gone')
  return version
}

test('a statement that was parsed before a swap, and runs after it, says that its tables are not in place', async () => {
  const id = await stageId()
  const schemaName = await schemaOf(wharf)
  const { select, from } = referenceSql(id, schemaName)
  await withSession((await loginUrl(wharf, 'ships')).href, async (client) => {
    // A function whose body was parsed in the old schema stands for a plan that has not noticed the swap yet.
    await client.query(`SET search_path = "${schemaName}"`)
    const sql = `SELECT ${select} FROM ${from}`
    const inPlace = async (text: string, values: unknown[]) =>
      (await client.query<{ in_place: boolean }>(text, values)).rows[0]?.in_place
    expect(await inPlace(sql, [id, schemaName])).toBe(true)
    const frozen = sql.replace(
      /'[^']*'::pg_catalog\.regnamespace/,
      `'${await oidOf(schemaName)}'::pg_catalog.regnamespace`,
    )
    await swapIn()
    expect(await inPlace(frozen, [id, schemaName])).toBe(false)
    expect(await inPlace(sql, [id, schemaName])).toBe(true)
  })
})

async function oidOf(schemaName: string): Promise<string> {
  const [row] = await wharf.database.query<{ oid: number }>('SELECT oid::int FROM pg_namespace WHERE nspname = $1', [
    schemaName,
  ])
  return String(row?.oid)
}

test('a read that a swap comes into begins again, by the structure that is there now', async () => {
  const id = await stageId()
  const schemaName = await schemaOf(wharf)
  const source = { pool: wharf.container.system.pool, stage: { id, schemaName }, version: await versionOf(id) }
  const planned: string[] = []
  const read = async (version: StageVersion) => {
    planned.push(version.generation)
    if (planned.length === 1) await swapIn()
    const { reference, generation } = await versionOf(id)
    return { seen: { reference, generation, in_place: true } }
  }
  const { seen } = await consistentRead(
    source,
    { rereadVersion: versionOf, catalogs: { forget: () => undefined } },
    read,
  )
  expect(planned).toHaveLength(2)
  expect(Number(planned[1])).toBe(Number(planned[0]) + 1)
  expect(seen.reference).toBe(await latestEvent(wharf))
})

test('a read whose tables were not in place begins again, even where nothing else shows the swap', async () => {
  const id = await stageId()
  const source = { pool: wharf.container.system.pool, stage: { id, schemaName: '' }, version: await versionOf(id) }
  let reads = 0
  const { seen } = await consistentRead(
    source,
    { rereadVersion: versionOf, catalogs: { forget: () => undefined } },
    async (version) => {
      reads += 1
      return { seen: { reference: version.reference, generation: version.generation, in_place: reads > 1 } }
    },
  )
  expect(reads).toBe(2)
  expect(seen.in_place).toBe(true)
})

test('a stage that is swapped without end is a conflict, and not a wait without end', async () => {
  const id = await stageId()
  const version = await versionOf(id)
  let generation = 0
  const rereadVersion = async (): Promise<StageVersion> => {
    generation += 1
    return { ...version, generation: String(generation), structure: String(generation) }
  }
  const source = { pool: wharf.container.system.pool, stage: { id, schemaName: '' }, version }
  const reading = consistentRead(source, { rereadVersion, catalogs: { forget: () => undefined } }, async () => ({
    seen: { reference: 'another', generation: 'another', in_place: true },
  }))
  await expect(reading).rejects.toMatchObject({ code: 'CONFLICT', retryAfterSeconds: 1 })
})

test('whatever swaps come between, no reference is ever answered with the rows of another', async () => {
  const bodies = new Map<string, Set<string>>()
  let swapping = true
  const swaps = (async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      await wharf.root.patch(`${SHIP}?id=eq.1`, { json: { tons: 1000 + turn } })
      await swapIn()
    }
    swapping = false
  })()
  const readers = Array.from({ length: 4 }, async (_, reader) => {
    for (let turn = 0; swapping; turn += 1) {
      // Always another query, so that each is read from the tables.
      const answer = await wharf.root.get(
        `${SHIP}?order=id&select=id,tons&or=(id.lt.100,id.eq.${reader}${turn + 1000})`,
      )
      expect(answer.status).toBe(200)
      const reference = answer.headers['x-service-ref'] ?? ''
      bodies.set(reference, (bodies.get(reference) ?? new Set()).add(answer.text))
    }
  })
  await Promise.all([swaps, ...readers])
  const several = [...bodies].filter(([, texts]) => texts.size > 1)
  expect(several).toEqual([])
  expect(bodies.size).toBeGreaterThan(3)
})
