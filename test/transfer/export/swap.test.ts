import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FindProjectDatabase } from '../../../src/projects/stage-database.ts'
import { type ExportServices, withExport } from '../../../src/transfer/export/with-export.ts'
import { type RowValue, tablesOf } from '../../support/archives/archive-text.ts'
import { noTransactionStaysOpen } from '../../support/database/transactions.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'
import { type Observer, observeDatabase, observeProjectDatabase } from './observed-database.ts'

/** Two tables and a sequence; what is in them says of which content they are, and how much of it there has to be. */
const contentOf = (label: string, rows: number): string => `
  CREATE TABLE first (id serial PRIMARY KEY, label text);
  CREATE TABLE second (label text, filler text);
  ALTER TABLE second ALTER filler SET STORAGE EXTERNAL;
  INSERT INTO first (label) SELECT '${label}' FROM generate_series(1, ${rows});
  INSERT INTO second SELECT '${label}', repeat('x', 3000) FROM generate_series(1, ${rows});`

const CONTENTS: Readonly<Record<string, number>> = { old: 300, new: 500 }

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', contentOf('old', 300))
  await wharf.root.post('/projects/shop/stages', { json: { slug: 'beside' } })
  await applyScript(wharf, 'shop', contentOf('new', 500), 'beside')
})

afterAll(() => wharf.close())

beforeEach(() => noTransactionStaysOpen(wharf))

/** Lets the stage's schema and the one beside it change places, as an import does. */
const swap = (): Promise<unknown> =>
  wharf.database.query(
    `BEGIN;
     ALTER SCHEMA "shop.live" RENAME TO "shop.live~old";
     ALTER SCHEMA "shop.beside" RENAME TO "shop.live";
     ALTER SCHEMA "shop.live~old" RENAME TO "shop.beside";
     UPDATE system.stage_state SET generation = generation + 1 WHERE schema_name = 'shop.live';
     COMMIT`,
  )

/** The same services, with somebody who looks on at every statement of an export. */
function observed(observer: Observer): ExportServices {
  const { container } = wharf
  const projectDatabase: FindProjectDatabase = async (project, use) =>
    observeProjectDatabase(await container.projectDatabase(project, use), observer)
  return { ...container, projectDatabase, snapshots: observeDatabase(container.snapshots, observer) }
}

const LIVE = [{ slug: 'shop', system: true, stages: ['live'] }]

/** @param betweenChunks awaited whenever the reader has got a chunk, with its number from 1. */
async function exportLive(
  observer: Observer,
  betweenChunks: (chunk: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  const chunks: Buffer[] = []
  await withExport(observed(observer), LIVE, async (archive) => {
    for await (const chunk of archive) await betweenChunks(chunks.push(chunk.copy()))
  })
  return Buffer.concat(chunks).toString()
}

/** Which content an archive has. Fails where it has some of each, or only some of it. */
function contentIn(archive: string): RowValue {
  const tables = tablesOf(archive)
  const labels = new Set(
    tables.flatMap(({ rows, columns }) => rows.map((row) => row[columns.indexOf('label')] ?? null)),
  )
  const [label = ''] = labels
  expect([...labels]).toHaveLength(1)
  expect(tables.map(({ path, count }) => [path, count])).toEqual([
    ['shop/live/first', CONTENTS[String(label)]],
    ['shop/live/second', CONTENTS[String(label)]],
  ])
  expect(archive).toContain(`"value":"${CONTENTS[String(label)]}","called":true`)
  return label
}

test('a swap before any statement of an export leaves it with all of the old or all of the new content', async () => {
  const statements: string[] = []
  const before = async (statement: string): Promise<void> => {
    statements.push(statement)
  }
  expect(contentIn(await exportLive({ before }))).toBe('old')

  // Up to the last cursor the export starts over with what came; from then on it keeps to what it has.
  const lastCursor = statements.findLastIndex((statement) => statement.startsWith('DECLARE "'))
  let [current, other] = ['old', 'new']
  for (const [at, statement] of statements.entries()) {
    // So are most of those by which the structure is read.
    if (!isThorough && at % 8 !== 0 && /^\s*(SELECT|WITH)\b/.test(statement)) continue
    let count = 0
    const archive = await exportLive({
      before: async () => {
        if (count++ === at) await swap()
      },
    })
    expect(contentIn(archive), statement).toBe(at <= lastCursor ? other : current)
    ;[current, other] = [other, current]
  }
})

test('a swap while an export is read leaves it with all of what it has begun with', async () => {
  let current = contentIn(await exportLive({ before: () => Promise.resolve() }))
  for (const swapped of [1, 9, 12]) {
    let chunks = 0
    const archive = await exportLive({ before: () => Promise.resolve() }, async (chunk) => {
      chunks = chunk
      if (chunk === swapped) await swap()
    })
    expect(chunks).toBeGreaterThan(swapped)
    expect(contentIn(archive)).toBe(current)
    current = current === 'old' ? 'new' : 'old'
  }
})

test('an export gives up with a conflict where the stage is swapped each time it is being opened', async () => {
  let attempts = 0
  const exporting = exportLive({
    before: async (statement) => {
      if (!statement.includes('pg_export_snapshot')) return
      attempts += 1
      await swap()
    },
  })
  await expect(exporting).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('try again') })
  expect(attempts).toBe(10)
})

test('exports go on while a stage is swapped at any moment', async () => {
  const found = new Set<RowValue>()
  let durationMs = 100
  for (let n = 0; n < 15; n += 1) {
    const startedAt = performance.now()
    const asked = wharf.root.post('/export', { json: { projects: LIVE } })
    await delay(durationMs * Math.random())
    await swap()
    const answer = await asked
    durationMs = performance.now() - startedAt
    expect(answer.status).toBe(200)
    found.add(contentIn(answer.text))
  }
  expect([...found].toSorted()).toEqual(['new', 'old'])
})
