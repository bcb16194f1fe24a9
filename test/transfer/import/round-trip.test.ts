import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { quoteLiteral, quoteQualified } from '../../../src/database/quoting.ts'
import { comparableLines, exportOf, sendArchive } from '../../support/archives/import.ts'
import { lackedBy, placedLines } from '../../support/archives/placed-archive.ts'
import { createMigratedDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type InstalledCluster, installedCluster } from '../../support/servers/installed-cluster.ts'
import { installedPrograms, versionOf } from '../../support/servers/installed-programs.ts'
import { MAY_ATTACH } from '../../support/service/attached-location.ts'
import type { Location, PlacedProject } from '../../support/service/location.ts'
import { ATTACHED_LOCATIONS, SHARED_LOCATION } from '../../support/service/locations.ts'
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

/** Unless tests are thorough, every third database is tried in an attached one too, in another location each. */
const isUsual = (at: number, turn: number): boolean =>
  at % 3 === 1 && Math.floor(at / 3) % ATTACHED_LOCATIONS.length === turn

/**
 * Whether it can be imported over itself there: the bare name of a function, as a value, means two of them while that of
 * the archive stands beside the one that is there, both to be found since extensions stand in that schema, too.
 */
const isNamedOnce = (slug: string, { staysInSchema, isOwned }: Location): boolean =>
  slug !== 'object-names' || !staysInSchema || !isOwned

/** Each database in Wharf's own, and in those that are attached. */
const locationsFor = (own: string | undefined) =>
  databasesFor(own).flatMap((database, at) => {
    const attached = ATTACHED_LOCATIONS.filter(
      (location, turn) =>
        (isThorough || (own !== undefined && isUsual(at, turn))) && isNamedOnce(database.slug, location),
    )
    return [SHARED_LOCATION, ...attached].map((location) => ({ ...database, location, where: location.name }))
  })

/** The first lines in which two texts differ: whole, they would bury what is wrong with them. */
const differences = (found: readonly string[], expected: readonly string[]): string[] =>
  Array.from({ length: Math.max(found.length, expected.length) }, (_, at) => at)
    .filter((at) => found[at] !== expected[at])
    .slice(0, 5)
    .map((at) => `line ${at}: ${found[at]?.slice(0, 300)} instead of ${expected[at]?.slice(0, 300)}`)

const resultSchema = z.object({
  projects: z.array(z.object({ stages: z.array(z.object({ rows: z.number() })) })),
})

/** How many rows an import says it has loaded. */
const rowsOf = (answer: unknown): number =>
  resultSchema
    .parse(answer)
    .projects.flatMap(({ stages }) => stages)
    .reduce((sum, { rows }) => sum + rows, 0)

describe.each(SERVERS)('on $server', ({ own }) => {
  let cluster: InstalledCluster | undefined
  let database: TestDatabase
  let wharf: TestWharf

  beforeAll(async () => {
    cluster = own === undefined ? undefined : installedCluster()
    database = await (cluster?.createServiceDatabase() ?? createMigratedDatabase())
    wharf = await startWharf({ database, environment: MAY_ATTACH })
  })

  afterAll(async () => {
    await wharf?.close()
  })

  /** What each sequence of a stage gives next, or why it gives nothing. */
  async function nextValues({ database, schema }: PlacedProject): Promise<Record<string, string>> {
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

  describe.each(locationsFor(own))('$slug $where', ({ slug, path, location }) => {
    let source: PlacedProject
    let copy: PlacedProject
    let archive: string

    beforeAll(async () => {
      const options = { createDatabase: cluster?.createDatabase }
      source = await location.createProject(wharf, slug, { ...options, script: readFileSync(path, 'utf8') })
      copy = await location.createProject(wharf, `${slug}-copy`, options)
      archive = await exportOf(wharf.root, slug)
    })

    afterAll(async () => {
      await source?.remove()
      await copy?.remove()
    })

    test.each(['into an empty project', 'over what is there'])('comes back the same, %s', async () => {
      const answer = await sendArchive(wharf.root, archive, { query: `?targetSlug=${copy.slug}` })
      expect(answer.json, answer.text).toMatchObject({
        ok: true,
        projects: [{ slug, targetSlug: copy.slug, stages: source.stages.map(({ slug }) => ({ slug })) }],
      })
      expect(rowsOf(answer.json)).toBe(archive.split('\n').filter((line) => line.startsWith('{"row":')).length)
      expect(lackedBy(location, archive)).toEqual([])
      expect(
        differences(placedLines(location, await exportOf(wharf.root, copy.slug)), placedLines(location, archive)),
      ).toEqual([])
      await copy.shareOut()
    })

    test('its sequences go on where they stood', async () => {
      expect(await nextValues(copy)).toEqual(await nextValues(source))
    })

    const registerDump = own === undefined ? [] : ['pg_dump']
    test.each(registerDump)('is the same to %s', async () => {
      const dump = async ({ database, schema }: PlacedProject): Promise<string[]> => {
        const text = (await cluster?.dump(database, schema)) ?? ''
        return text
          .replaceAll(`"${schema}"`, 'stage')
          .replaceAll(schema, 'stage')
          .split('\n')
          .filter((line) => !/^\\(un)?restrict /.test(line))
      }
      const original = await dump(source)
      expect(original.length).toBeGreaterThan(50)
      expect(differences(await dump(copy), original)).toEqual([])
    })

    test.runIf(location.isAttached)('is exported by a login that may only read as by its owner', async () => {
      const withoutRights = (text: string): string[] =>
        comparableLines(text).filter((line) => !line.startsWith('{"stage":'))
      const owners = withoutRights(await exportOf(wharf.root, copy.slug))
      await copy.becomeReadOnly()
      const answer = await wharf.root.post('/export', { json: { projects: [{ slug: copy.slug }] } })
      if (answer.status === 409) {
        expect(answer.text).toMatch(/row-level security/)
        expect(archive).toContain('"rowSecurity":{"enabled":true')
        return
      }
      expect(answer.status, answer.text).toBe(200)
      expect(differences(withoutRights(answer.text), owners)).toEqual([])
    })
  })
})
