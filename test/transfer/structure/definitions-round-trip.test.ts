import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLineCheck } from '../../../src/archive/check-line.ts'
import { type Grammar, loadGrammar } from '../../../src/archive/sql/grammar.ts'
import { builtDifferences } from '../../../src/transfer/structure/compare-built.ts'
import { missingThings } from '../../../src/transfer/structure/compare-structures.ts'
import {
  createStatements,
  type StructureLines,
  statementsWithoutRows,
} from '../../../src/transfer/structure/create-statements.ts'
import { tablesIn } from '../../../src/transfer/structure/lines.ts'
import { readStructure, toLines } from '../../../src/transfer/structure/read-structure.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts'
import { openStage } from '../../support/database/stage-session.ts'
import { type InstalledCluster, installedCluster } from '../../support/servers/installed-cluster.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import {
  CONDITIONS,
  DEFAULTS,
  DOMAIN_CHECKS,
  EXCLUSIONS,
  GENERATED,
  INDEXES,
  MATERIAL,
  NEWER_CONDITIONS,
} from './expressions.ts'

const programs = installedPrograms()

let grammar: Grammar
let own: TestDatabase
let cluster: InstalledCluster | undefined
let installed: TestDatabase | undefined
/** What one server printed, by the server. */
const printed = new Map<string, StructureLines>()

const EMBEDDED = 'the embedded PostgreSQL'
const INSTALLED = 'the installed PostgreSQL'

beforeAll(async () => {
  grammar = await loadGrammar()
  own = await createTestDatabase()
  cluster = installedCluster()
  if (cluster) {
    installed = await cluster.createDatabase()
    printed.set(INSTALLED, await printedBy(INSTALLED, statementsOf(CONDITIONS)))
  }
  printed.set(EMBEDDED, await printedBy(EMBEDDED, statementsOf(CONDITIONS)))
})

afterAll(async () => {
  await own?.drop()
  await installed?.drop()
})

const check = (condition: string, at: number): string =>
  `ALTER TABLE material ADD CONSTRAINT check_${at} CHECK (${condition})`

/** An index of the rows for which a condition holds; none where PostgreSQL does not take it for immutable. */
const partialIndex = (condition: string, at: number): string => `DO $do$ BEGIN
  EXECUTE $sql$CREATE INDEX partial_${at} ON material (i) WHERE ${condition}$sql$;
EXCEPTION WHEN invalid_object_definition THEN NULL;
END $do$`

const statementsOf = (conditions: readonly string[]): readonly string[] => [
  ...MATERIAL,
  ...conditions.map(check),
  ...conditions.map(partialIndex),
  'CREATE TABLE defaults (id integer)',
  ...DEFAULTS.map(([type, expression], at) => `ALTER TABLE defaults ADD c${at} ${type} DEFAULT (${expression})`),
  'CREATE TABLE generated (LIKE material)',
  ...GENERATED.map(
    ([type, expression], at) => `ALTER TABLE generated ADD g${at} ${type} GENERATED ALWAYS AS (${expression}) STORED`,
  ),
  ...INDEXES.map((rest, at) => `CREATE INDEX index_${at} ON material ${rest}`),
  ...EXCLUSIONS.map((rest, at) => `ALTER TABLE material ADD CONSTRAINT exclusion_${at} ${rest}`),
  ...DOMAIN_CHECKS.map(
    ([type, condition], at) => `CREATE DOMAIN domain_${at} AS ${type} CONSTRAINT checked CHECK (${condition})`,
  ),
]

let stages = 0

/** Runs statements in a new schema. @returns what the server then prints of it. */
async function printedBy(server: string, statements: readonly string[]): Promise<StructureLines> {
  const url = server === EMBEDDED ? own.url : (installed?.url ?? '')
  stages += 1
  const name = `stage ${stages}`
  const stage = await openStage(url, name)
  try {
    await stage.run([statements.join(';\n')])
    const structure = await readStructure(stage.query, name)
    expect(structure.notExported).toEqual([])
    return toLines(structure)
  } finally {
    await stage.client.query(`DROP SCHEMA "${name}" CASCADE`)
    await stage.end()
  }
}

async function rebuiltBy(server: string, lines: StructureLines): Promise<StructureLines> {
  const statements = createStatements(lines)
  return printedBy(server, [...statementsWithoutRows(statements), ...statements.last])
}

async function expectTheSame(built: StructureLines, lines: StructureLines): Promise<void> {
  expect(missingThings(lines, built)).toEqual([])
  expect(missingThings(built, lines)).toEqual([])
  expect(await builtDifferences(grammar, lines, built)).toEqual([])
}

const printedOf = (server: string): StructureLines =>
  printed.get(server) ?? { extensions: [], sequences: [], inOrder: [] }

const PAIRS =
  programs === undefined
    ? [[EMBEDDED, EMBEDDED] as const]
    : [EMBEDDED, INSTALLED].flatMap((from) => [EMBEDDED, INSTALLED].map((to) => [from, to] as const))

test.each(PAIRS)('what %s printed of every kind of expression says the same when %s has built it', async (from, to) => {
  const lines = printedOf(from)
  const [, , material] = tablesIn(lines)
  expect((material?.checks ?? []).length + (material?.indexes ?? []).length).toBeGreaterThan(CONDITIONS.length)
  const built = await rebuiltBy(to, lines)
  await expectTheSame(built, lines)
  // An expression in other words is accepted for this: see assert-built.ts.
  if (from === to) await expectTheSame(await rebuiltBy(to, built), built)
})

test('what came with newer versions says the same, too', async () => {
  const lines = await printedBy(EMBEDDED, [...MATERIAL, ...NEWER_CONDITIONS.map(check)])
  expect(tablesIn(lines)[0]?.checks).toHaveLength(NEWER_CONDITIONS.length)
  await expectTheSame(await rebuiltBy(EMBEDDED, lines), lines)
})

test('every line of it may be written and read', async () => {
  const findFaults = createLineCheck()
  for (const lines of printed.values()) {
    for (const { kind, content } of lines.inOrder) expect(await findFaults(kind, content)).toEqual([])
  }
})

/** Conditions made of others. */
const { condition: compound } = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...CONDITIONS).map((text) => `(${text})`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} AND ${b})`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} OR NOT ${b})`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(CASE WHEN ${a} THEN ${b} ELSE i > -1 END)`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(COALESCE(${a}, ${b}) IS NOT FALSE)`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(${a} IS DISTINCT FROM ${b})`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `(true = ANY (ARRAY[${a}, ${b}]))`),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => `((${a}, ${b}) IN ((true, false), (false, bo)))`),
  ),
}))

test('conditions made of them say the same once they were built again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(compound, { minLength: 10, maxLength: 20 }), async (conditions) => {
      const lines = await printedBy(EMBEDDED, [...MATERIAL, ...conditions.map(check)])
      await expectTheSame(await rebuiltBy(EMBEDDED, lines), lines)
    }),
    { numRuns: 3 },
  )
})
