import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generatedSchema } from '../../support/archives/generated-schema.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createMigratedDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type InstalledCluster, installedCluster } from '../../support/servers/installed-cluster.ts'
import { applyScript, createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

/**
 * How many: `SCHEMAS=500` takes a quarter of an hour. They are the same ones each time, unless `SEED` says otherwise;
 * `SHRINK=1` makes one that fails small.
 */
const SCHEMAS = Number(process.env.SCHEMAS ?? 3)

let cluster: InstalledCluster | undefined
let database: TestDatabase
let wharf: TestWharf
/** How many schemas PostgreSQL took. */
let taken = 0

beforeAll(async () => {
  cluster = installedCluster()
  database = await (cluster?.createServiceDatabase() ?? createMigratedDatabase())
  wharf = await startWharf({ database })
})

afterAll(async () => {
  await wharf?.close()
})

/** A stage as `pg_dump` has it, where it is installed, without the order that it gives things. */
async function dumpOf(slug: string): Promise<readonly string[]> {
  const text = (await cluster?.dump(database, `${slug}.live`)) ?? ''
  const lines = text.replaceAll(`"${slug}.live"`, 'stage').replaceAll(`${slug}.live`, 'stage').split('\n')
  return lines.filter((line) => !/^\\(un)?restrict /.test(line)).sort()
}

/** Takes a schema out and back, into an empty project, over itself, and by an undo. */
async function assertComesBack(script: string): Promise<void> {
  await createProject(wharf, 'source')
  await createProject(wharf, 'copy')
  try {
    const applied = await applyScript(wharf, 'source', script)
    // What PostgreSQL itself refuses is no schema.
    if (applied.status === 422) return
    expect(applied.status, applied.text).toBe(200)
    taken += 1
    const archive = await exportOf(wharf.root, 'source')
    expect(archive).not.toContain('"notExported"')
    const [lines, dump] = [comparableLines(archive), await dumpOf('source')]
    const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=copy' })
    expect(imported.status, imported.text).toBe(200)
    expect(await dumpOf('copy')).toEqual(dump)
    const over = await sendArchive(wharf.root, archive)
    expect(over.status, over.text).toBe(200)
    expect(comparableLines(await exportOf(wharf.root, 'source'))).toEqual(lines)
    expect(await dumpOf('source')).toEqual(dump)
    const undone = await wharf.root.post('/projects/source/stages/live/undo')
    expect(undone.status, undone.text).toBe(200)
    expect(await dumpOf('source')).toEqual(dump)
  } finally {
    for (const slug of ['source', 'copy']) await wharf.root.delete(`/projects/${slug}`)
  }
}

test('schemas that are made up at random come back as they were', { timeout: 3_600_000 }, async () => {
  await fc.assert(fc.asyncProperty(generatedSchema, assertComesBack), {
    numRuns: SCHEMAS,
    seed: Number(process.env.SEED ?? 1),
    endOnFailure: process.env.SHRINK === undefined,
  })
  expect(taken).toBeGreaterThan(SCHEMAS / 3)
})
