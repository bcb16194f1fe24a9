import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quoteLiteral, quoteQualified } from '../../../src/database/quoting.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { createMigratedDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type InstalledCluster, installedCluster } from '../../support/servers/installed-cluster.ts'
import { installedPrograms, versionOf } from '../../support/servers/installed-programs.ts'
import { createProject } from '../../support/service/projects.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'
import { isThorough } from '../../support/thorough.ts'

/**
 * Scripts of whole databases; those that are not part of the project may be missing, and those that are of a version
 * need that one or a newer one.
 */
const DATABASES = [
  { slug: 'harbour', path: '../../../demo/harbour.sql' },
  { slug: 'chinook', path: '../../../../shared/data/chinook/chinook.sql' },
  { slug: 'northwind', path: '../../../../shared/data/northwind/northwind.sql' },
  { slug: 'edge-values', path: '../../fixtures/edge-values.sql' },
  { slug: 'structures', path: '../../fixtures/structures.sql' },
  { slug: 'partitions', path: '../../fixtures/partitions.sql' },
  { slug: 'objects', path: '../../fixtures/objects.sql' },
  { slug: 'rental', path: '../../fixtures/rental.sql' },
  { slug: 'inheritance', path: '../../fixtures/inheritance.sql' },
  { slug: 'row-types', path: '../../fixtures/row-types.sql' },
  { slug: 'object-names', path: '../../fixtures/object-names.sql' },
  { slug: 'tables-of-18', path: '../../fixtures/tables-18.sql', since: 18 },
]
  .map(({ path, since = 0, ...others }) => {
    return { ...others, path: fileURLToPath(new URL(path, import.meta.url)), since }
  })
  .filter(({ path }) => existsSync(path))

const programs = installedPrograms()

/** The server that all tests share, and the system's own where it has one, which also has a `pg_dump` that fits. */
const SERVERS: readonly { server: string; own?: string }[] = [
  { server: 'the embedded PostgreSQL' },
  ...(programs === undefined ? [] : [{ server: `the PostgreSQL in ${programs}`, own: programs }]),
]

/** Those whose structure or values a version of PostgreSQL may treat otherwise. */
const EVERYWHERE: ReadonlySet<string> = new Set(['harbour', 'edge-values', 'structures', 'objects', 'tables-of-18'])

/** Unless tests are thorough, the embedded one, which has no `pg_dump` to compare with, takes fewer beside the other. */
const databasesFor = (own: string | undefined) =>
  DATABASES.filter(({ slug, since }) => {
    if (own !== undefined) return versionOf(own) >= since
    return isThorough || programs === undefined || EVERYWHERE.has(slug)
  })

/** The first lines in which two texts differ: whole, they would bury what is wrong with them. */
const differences = (found: readonly string[], expected: readonly string[]): string[] =>
  Array.from({ length: Math.max(found.length, expected.length) }, (_, at) => at)
    .filter((at) => found[at] !== expected[at])
    .slice(0, 5)
    .map((at) => `line ${at}: ${found[at]?.slice(0, 300)} instead of ${expected[at]?.slice(0, 300)}`)

describe.each(SERVERS)('on $server', ({ own }) => {
  let cluster: InstalledCluster | undefined
  let database: TestDatabase
  let wharf: TestWharf

  beforeAll(async () => {
    cluster = own === undefined ? undefined : installedCluster()
    database = await (cluster?.createServiceDatabase() ?? createMigratedDatabase())
    wharf = await startWharf({ database })
  })

  afterAll(async () => {
    await wharf?.close()
  })

  /** What each sequence of a stage gives next, or why it gives nothing. */
  async function nextValues(schema: string): Promise<Record<string, string>> {
    const sequences = await database.query<{ name: string }>(
      'SELECT sequencename::text AS name FROM pg_sequences WHERE schemaname = $1 ORDER BY 1',
      [schema],
    )
    const next = async (name: string): Promise<string> => {
      const sequence = quoteLiteral(quoteQualified(schema, name))
      const asked = database.query<{ value: string }>(`SELECT nextval(${sequence})::text AS value`)
      const [row] = await asked.catch((error: Error) => [{ value: error.message.replaceAll(name, '') }])
      return row?.value ?? ''
    }
    const values: Record<string, string> = {}
    for (const { name } of sequences) values[name] = await next(name)
    return values
  }

  describe.each(databasesFor(own))('$slug', ({ slug, path }) => {
    const copy = `${slug}-copy`
    let archive: string

    beforeAll(async () => {
      await createProject(wharf, slug, readFileSync(path, 'utf8'))
      await createProject(wharf, copy)
      archive = await exportOf(wharf.root, slug)
    })

    test.each(['into an empty project', 'over what is there'])('comes back the same, %s', async () => {
      const answer = await sendArchive(wharf.root, archive, { query: `?targetSlug=${copy}` })
      const rows = archive.split('\n').filter((line) => line.startsWith('{"row":')).length
      expect(answer.json).toMatchObject({
        ok: true,
        projects: [{ slug, targetSlug: copy, stages: [{ slug: 'live', rows }] }],
      })
      expect(archive).not.toContain('"notExported"')
      expect(differences(comparableLines(await exportOf(wharf.root, copy)), comparableLines(archive))).toEqual([])
    })

    test('its sequences go on where they stood', async () => {
      expect(await nextValues(`${copy}.live`)).toEqual(await nextValues(`${slug}.live`))
    })

    const registerDump = own === undefined ? [] : ['pg_dump']
    test.each(registerDump)('is the same to %s', async () => {
      const dump = async (schema: string): Promise<string[]> => {
        const text = (await cluster?.dump(database, schema)) ?? ''
        return text
          .replaceAll(`"${schema}"`, 'stage')
          .replaceAll(schema, 'stage')
          .split('\n')
          .filter((line) => !/^\\(un)?restrict /.test(line))
      }
      const source = await dump(`${slug}.live`)
      expect(source.length).toBeGreaterThan(50)
      expect(differences(await dump(`${copy}.live`), source)).toEqual([])
    })
  })
})
