import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { generatedSchema } from '../../support/archives/generated-schema.ts'
import { exportOf, sendArchive } from '../../support/archives/import.ts'
import { lackedBy, placedLines } from '../../support/archives/placed-archive.ts'
import { createMigratedDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type InstalledCluster, installedCluster } from '../../support/servers/installed-cluster.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import { type Location, type PlacedProject, ScriptRefused } from '../../support/service/location.ts'
import { someLocations } from '../../support/service/locations.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

/**
 * How many: `SCHEMAS=500` takes a quarter of an hour. They are the same ones each time, unless `SEED` says otherwise;
 * `SHRINK=1` makes one that fails small.
 */
const SCHEMAS = Number(process.env.SCHEMAS ?? (isThorough ? 12 : 3))

/** Those of a run for each attached location. */
const ATTACHED_SCHEMAS = process.env.SCHEMAS === undefined && !isThorough ? 1 : SCHEMAS

let cluster: InstalledCluster | undefined
let database: TestDatabase
let wharf: TestWharf

beforeAll(async () => {
  cluster = installedCluster()
  database = await (cluster?.createServiceDatabase() ?? createMigratedDatabase())
  wharf = await startWharf({ database, environment: MAY_ATTACH })
})

afterAll(async () => {
  await wharf?.close()
})

/** A stage as `pg_dump` has it, where it is installed, without the order that it gives things. */
async function dumpOf({ database, schema }: PlacedProject): Promise<readonly string[]> {
  const text = (await cluster?.dump(database, schema)) ?? ''
  const lines = text.replaceAll(`"${schema}"`, 'stage').replaceAll(schema, 'stage').split('\n')
  return lines.filter((line) => !/^\\(un)?restrict /.test(line)).sort()
}

const extensionsOf = (script: string): string[] =>
  [...script.matchAll(/CREATE EXTENSION IF NOT EXISTS (\w+)/g)].map(([, name = '']) => name)

/** Takes a schema out and back, into an empty project, over itself, and by an undo. */
async function assertComesBack(location: Location, allOf: string): Promise<boolean> {
  const made: PlacedProject[] = []
  const createProject = async (slug: string, script?: string): Promise<PlacedProject> => {
    const project = await location.createProject(wharf, slug, {
      createDatabase: cluster?.createDatabase,
      extensions: extensionsOf(allOf),
      ...(script !== undefined && { script }),
    })
    made.push(project)
    return project
  }
  try {
    const copy = await createProject('copy')
    const source = await createProject('source', allOf)
    const archive = await exportOf(wharf.root, 'source')
    expect(lackedBy(location, archive)).toEqual([])
    const [lines, dump] = [placedLines(location, archive), await dumpOf(source)]
    const imported = await sendArchive(wharf.root, archive, { query: '?targetSlug=copy' })
    expect(imported.status, imported.text).toBe(200)
    await copy.shareOut()
    expect(await dumpOf(copy)).toEqual(dump)
    const over = await sendArchive(wharf.root, archive)
    expect(over.status, over.text).toBe(200)
    expect(placedLines(location, await exportOf(wharf.root, 'source'))).toEqual(lines)
    expect(await dumpOf(source)).toEqual(dump)
    for (const stage of isUndoable(over.json) ? source.stages : []) {
      // What was written to an attached database since is not looked at.
      const undone = await wharf.root.post(`/projects/source/stages/${stage.slug}/undo?force=${location.isAttached}`)
      expect(undone.status, undone.text).toBe(200)
    }
    expect(await dumpOf(source)).toEqual(dump)
    return true
  } catch (error) {
    // What PostgreSQL itself refuses is no schema.
    if (error instanceof ScriptRefused) return false
    throw error
  } finally {
    for (const project of made) await project.remove()
  }
}

/** Whether what an import replaced is kept: in an attached database it may have been loaded in place. */
const isUndoable = (answer: unknown): boolean =>
  resultSchema.parse(answer).projects.some(({ stages }) => stages.some(({ undoable }) => undoable))

const resultSchema = z.object({
  projects: z.array(z.object({ stages: z.array(z.object({ undoable: z.boolean() })) })),
})

describe.each(someLocations(2))('$name', (location) => {
  const runs = location.isAttached ? ATTACHED_SCHEMAS : SCHEMAS

  test('schemas that are made up at random come back as they were', { timeout: 3_600_000 }, async () => {
    let taken = 0
    const property = fc.asyncProperty(generatedSchema, async (script) => {
      if (await assertComesBack(location, script)) taken += 1
    })
    await fc.assert(property, {
      numRuns: runs,
      seed: Number(process.env.SEED ?? 1),
      endOnFailure: process.env.SHRINK === undefined,
    })
    expect(taken).toBeGreaterThan(runs / 3)
  })
})
